//! Ends a run that hangs. Servers and browsers end with the processes that started them.

const LIMIT_MS = 15 * 60_000;

export default function deadline(): () => void {
  const timer = setTimeout(() => {
    console.error(`The tests of the page took more than ${LIMIT_MS / 60_000} minutes and were ended.`);
    process.exit(1);
  }, LIMIT_MS);
  return () => clearTimeout(timer);
}
