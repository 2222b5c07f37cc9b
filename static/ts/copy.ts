import { announce, on } from "./dom";
import { say } from "./words";

/** `data-copy="text"` copies that; an empty one copies the code block that the button stands in. */
export function startCopy(): void {
  on("click", "[data-copy]", (button) => {
    const text = button.dataset.copy || button.closest(".code")?.querySelector("code")?.textContent || "";
    copy(text).then(
      () => mark(button),
      () => announce(say("notCopied")),
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
  const word = button.querySelector<HTMLElement>(".button-word");
  const before = word?.textContent ?? "";
  if (!button.classList.contains("copied")) {
    if (word) word.textContent = say("copied");
    setTimeout(() => {
      button.classList.remove("copied");
      if (word) word.textContent = before;
    }, 1500);
  }
  button.classList.add("copied");
  announce(say("copied"));
}
