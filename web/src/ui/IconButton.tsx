//! A button with a picture, which says what it does to those who cannot see it and those who point at it.

import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  label: string;
  pressed?: boolean;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ label, pressed, children, className, ref, ...rest }: Props) {
  return (
    <button ref={ref} type="button" className={`icon-button ${className ?? ""}`} aria-label={label} title={label} aria-pressed={pressed} {...rest}>
      {children}
    </button>
  );
}
