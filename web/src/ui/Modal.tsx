//! A dialog in front of the page. Its backdrop is our own: the library's would add a style element, which the page's policy forbids.

import * as Dialog from "@radix-ui/react-dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { IconButton } from "./IconButton";

interface Props {
  title: string;
  description?: string;
  onClose: () => void;
  /** Whether it can be closed without an answer. */
  closable?: boolean;
  wide?: boolean;
  children: ReactNode;
}

export function Modal({ title, description, onClose, closable = true, wide = false, children }: Props) {
  const before = useRef(document.activeElement);
  const stay = (event: { preventDefault: () => void }) => {
    if (!closable) event.preventDefault();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && closable && onClose()}>
      <Dialog.Portal>
        <div className="backdrop">
          <Dialog.Content
            className="modal"
            data-wide={wide || undefined}
            onOpenAutoFocus={focusFirstField}
            onCloseAutoFocus={(event) => {
              event.preventDefault();
              goBack(before.current);
            }}
            onEscapeKeyDown={stay}
            onPointerDownOutside={stay}
            {...(description ? {} : { "aria-describedby": undefined })}
          >
            <header>
              <Dialog.Title>{title}</Dialog.Title>
              {closable && (
                <Dialog.Close asChild>
                  <IconButton label="Close">
                    <X />
                  </IconButton>
                </Dialog.Close>
              )}
            </header>
            {description && <Dialog.Description>{description}</Dialog.Description>}
            {children}
          </Dialog.Content>
        </div>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Where the focus was; what it was on may be gone, such as the entry of a menu. */
function goBack(before: Element | null): void {
  const there = before instanceof HTMLElement && before.isConnected && before !== document.body;
  (there ? before : document.getElementById("composer"))?.focus();
}

/** The first thing to fill in, where there is one; the button that closes stands before it. */
function focusFirstField(event: globalThis.Event): void {
  const dialog = event.currentTarget as HTMLElement | null;
  const field = dialog?.querySelector<HTMLElement>("input:not([type=hidden]), textarea, select, .button.primary");
  if (!field) return;
  event.preventDefault();
  field.focus();
}
