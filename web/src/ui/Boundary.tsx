//! Where something goes wrong while it is drawn, or a part of the page cannot be loaded, only that part is lost.

import { Component, type ReactNode } from "react";

interface Props {
  /** What stands in its place. `again` draws it once more. */
  instead: (again: () => void) => ReactNode;
  onAgain?: () => void;
  children: ReactNode;
}

export class Boundary extends Component<Props, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  private readonly again = () => {
    this.props.onAgain?.();
    this.setState({ broken: false });
  };

  override render(): ReactNode {
    return this.state.broken ? this.props.instead(this.again) : this.props.children;
  }
}

/** Says what is missing, and what can be done. */
export function Broken({ what, again }: { what: string; again: () => void }) {
  return (
    <div className="broken" role="alert">
      <p>{what}</p>
      <div className="row">
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    </div>
  );
}
