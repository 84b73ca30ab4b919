//! A menu behind a button, with arrow keys, typing ahead and focus that comes back.

import * as Dropdown from "@radix-ui/react-dropdown-menu";
import { Check } from "lucide-react";
import { type ReactNode, useState } from "react";

interface Props {
  trigger: ReactNode;
  label: string;
  align?: "start" | "end";
  children: ReactNode;
}

export function Menu({ trigger, label, align = "end", children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const change = (next: boolean) => {
    if (next) setPlace(placeOfMenus());
    setOpen(next);
  };
  return (
    <Dropdown.Root modal={false} open={isOpen} onOpenChange={change}>
      <Dropdown.Trigger asChild>{trigger}</Dropdown.Trigger>
      <Dropdown.Portal container={place}>
        <Dropdown.Content className="menu" align={align} sideOffset={4} collisionPadding={8} aria-label={label}>
          {children}
        </Dropdown.Content>
      </Dropdown.Portal>
    </Dropdown.Root>
  );
}

/** Inside of a landmark, where people who walk by landmarks find it; of one that has the keyboard when the menu opens. */
function placeOfMenus(): HTMLElement | null {
  return document.querySelector<HTMLElement>("main:not([inert])") ?? document.querySelector<HTMLElement>(".sidebar");
}

interface ItemProps {
  icon?: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  hint?: string;
  children: ReactNode;
}

export function MenuItem({ icon, onSelect, danger, disabled, hint, children }: ItemProps) {
  return (
    <Dropdown.Item className="menu-item" data-danger={danger || undefined} disabled={disabled} onSelect={onSelect}>
      <span className="menu-icon">{icon}</span>
      <span className="menu-text">{children}</span>
      {hint && <kbd>{hint}</kbd>}
    </Dropdown.Item>
  );
}

export function MenuChoice({ value, choices, onChoose }: { value: string | null; choices: { value: string; label: string; hint?: string }[]; onChoose: (value: string) => void }) {
  return (
    <Dropdown.RadioGroup value={value ?? ""} onValueChange={onChoose}>
      {choices.map((choice) => (
        <Dropdown.RadioItem key={choice.value} value={choice.value} className="menu-item">
          <span className="menu-icon">
            <Dropdown.ItemIndicator>
              <Check />
            </Dropdown.ItemIndicator>
          </span>
          <span className="menu-text">
            {choice.label}
            {choice.hint && <small>{choice.hint}</small>}
          </span>
        </Dropdown.RadioItem>
      ))}
    </Dropdown.RadioGroup>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <Dropdown.Label className="menu-label">{children}</Dropdown.Label>;
}

export function MenuSeparator() {
  return <Dropdown.Separator className="menu-separator" />;
}
