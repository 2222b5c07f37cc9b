import { announce, on } from "./dom";

/** `data-copy="text"` copies that; an empty one copies the code block that the button stands in. */
export function startCopy(): void {
  on("click", "[data-copy]", (button) => {
    const text = button.dataset.copy || button.closest(".code")?.querySelector("code")?.textContent || "";
    copy(text).then(
      () => mark(button),
      () => announce("Copying is not possible here: select the text and copy it by hand."),
    );
  });
}

async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without https the clipboard is closed, but a selection can still be copied.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("not copied");
}

function mark(button: HTMLElement): void {
  button.classList.add("copied");
  announce("Copied");
  setTimeout(() => button.classList.remove("copied"), 1500);
}
