// A file of a form is uploaded as soon as it is chosen, with its progress; the form then holds what the server answered.
// Without scripts, or while it is still on its way, the form uploads the file itself.
import { announce, each } from "./dom";
import { say } from "./words";

interface Uploaded {
  name: string;
  digest: string;
  size: number;
}

const TEXT = 4096;
const PICTURE = 320;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const SHORT = 12;

/** Makes each field for a file upload what is chosen at once, with its progress. */
export function startUploads(): void {
  each<HTMLElement>("[data-upload]", upload);
}

function upload(place: HTMLElement): void {
  const find = <T extends HTMLElement>(part: string): T => place.querySelector<T>(`[data-upload-${part}]`) as T;
  const [chosen, value, progress] = [
    find<HTMLInputElement>("chosen"),
    find<HTMLInputElement>("value"),
    find<HTMLProgressElement>("progress"),
  ];
  let running: XMLHttpRequest | undefined;

  function show(uploaded: Uploaded | null): void {
    value.value = uploaded ? JSON.stringify(uploaded) : "";
    find("state").hidden = !uploaded;
    if (!uploaded) return;
    find("name").textContent = say("uploaded", uploaded.name);
    find("facts").textContent = say("uploadFacts", sized(uploaded.size), uploaded.digest.slice(0, SHORT));
    find("facts").title = uploaded.digest;
  }

  function fail(text: string): void {
    find("fault-text").textContent = text;
    find("fault").hidden = !text;
    if (text) announce(text);
  }

  function send(file: File): void {
    running?.abort();
    const request = new XMLHttpRequest();
    running = request;
    const form = new FormData();
    form.append("file", file);
    request.open("POST", place.dataset.upload ?? "");
    const token = chosen.form?.querySelector<HTMLInputElement>("[name=csrfmiddlewaretoken]");
    request.setRequestHeader("X-CSRFToken", token?.value ?? "");
    request.upload.addEventListener("progress", (event) => {
      progress.max = Math.max(event.total, 1);
      progress.value = event.loaded;
    });
    request.addEventListener("load", () => answered(request));
    request.addEventListener("error", () => fail(say("uploadFailed")));
    request.addEventListener("loadend", () => {
      if (running === request) progress.hidden = true;
    });
    progress.value = 0;
    progress.hidden = false;
    request.send(form);
  }

  function answered(request: XMLHttpRequest): void {
    if (request !== running) return;
    const answer = parsed(request.responseText);
    if (request.status === 201 && answer) {
      show(answer as unknown as Uploaded);
      // Else the form would send it again.
      chosen.value = "";
      announce(find("name").textContent ?? "");
    } else {
      fail(typeof answer?.detail === "string" ? answer.detail : say("uploadFailed"));
    }
  }

  chosen.addEventListener("change", () => {
    const file = chosen.files?.[0];
    if (!file) return;
    show(null);
    fail("");
    find("preview").replaceChildren();
    const fault = faultOf(file, place.dataset.most, chosen.accept);
    if (fault) {
      chosen.value = "";
      fail(fault);
      return;
    }
    send(file);
    void preview(file).then((shown) => {
      if (shown) find("preview").replaceChildren(shown);
    });
  });
  find("remove").addEventListener("click", () => {
    show(null);
    find("preview").replaceChildren();
    chosen.focus();
  });
}

/** What the server would say, before anything is sent. */
function faultOf(file: File, most: string | undefined, accept: string): string {
  const endings = accept.split(",").filter(Boolean);
  if (endings.length && !endings.some((ending) => file.name.toLowerCase().endsWith(ending))) {
    return say("uploadType", endings.join(", "));
  }
  return most && file.size > Number(most) * 1024 * 1024 ? say("uploadLarge", most) : "";
}

/** A picture is drawn and a text is written as text: nothing of the file is ever a part of the page. */
async function preview(file: File): Promise<HTMLElement | null> {
  try {
    if (PICTURES.includes(file.type)) return drawn(await createImageBitmap(file));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.slice(0, TEXT).arrayBuffer(), {
      stream: true,
    });
    if (!text || text.includes("\0")) return null;
    const code = document.createElement("pre");
    code.className = "file-text";
    code.tabIndex = 0;
    code.textContent = text;
    return code;
  } catch {
    return null;
  }
}

function drawn(picture: ImageBitmap): HTMLElement {
  const canvas = document.createElement("canvas");
  const scale = Math.min(1, PICTURE / Math.max(picture.width, picture.height));
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.className = "file-picture";
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function sized(bytes: number): string {
  const [value, unit] =
    bytes < 1024 ? [bytes, "byte"] : bytes < 1024 ** 2 ? [bytes / 1024, "kilobyte"] : [bytes / 1024 ** 2, "megabyte"];
  const options = { style: "unit", unit: String(unit), maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat("en", options).format(Number(value));
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
