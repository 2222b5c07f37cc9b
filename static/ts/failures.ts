// A failed request always shows a banner with a remedy; the texts are templates of the page
// (templates/shell/failure.html).

interface RequestDetail {
  xhr?: XMLHttpRequest;
  elt?: Element;
  requestConfig?: { verb?: string };
  shouldSwap?: boolean;
  isError?: boolean;
}

const BY_STATUS: Record<number, string> = {
  401: "signed-out",
  403: "forbidden",
  404: "missing",
  409: "conflict",
  410: "missing",
  429: "busy",
  502: "busy",
  503: "busy",
  504: "busy",
};

/** Shows the banner of this kind of failure, once. */
export function showFailure(kind: string): void {
  const template = document.getElementById(`failure-${kind}`);
  const place = document.getElementById("notices");
  if (!(template instanceof HTMLTemplateElement) || !place) return;
  place.querySelector(`[data-failure="${kind}"]`)?.remove();
  const banner = (template.content.cloneNode(true) as DocumentFragment).firstElementChild;
  if (!banner) return;
  banner.setAttribute("data-failure", kind);
  for (const link of banner.querySelectorAll<HTMLAnchorElement>("[data-sign-in]")) link.href = signInAddress();
  place.append(banner);
  banner.scrollIntoView({ block: "nearest" });
  if (kind === "signed-out") document.dispatchEvent(new CustomEvent("gl:signed-out"));
}

/** Address of the page of signing in, with the way back to here. */
export function signInAddress(): string {
  const template = document.getElementById("failure-signed-out") as HTMLTemplateElement | null;
  const link = template?.content.querySelector("[data-sign-in]")?.getAttribute("href") ?? "/sign-in/";
  return `${link}?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`;
}

/** Tell once that the session is over, where a part repeats by itself: who types goes on, and knows. */
function tellSignedOut(): void {
  if (!document.querySelector("[data-failure=signed-out]")) showFailure("signed-out");
}

function clearFailures(): void {
  for (const banner of document.querySelectorAll("[data-failure]:not([data-failure^=typed])")) banner.remove();
}

/** `data-quiet` marks what repeats by itself (counts, polling): the live state speaks for it. */
function quiet(detail: RequestDetail): boolean {
  return detail.elt?.closest("[data-quiet]") != null;
}

/** Shows a banner for each request of htmx that fails, and lets answers with errors through. */
export function startFailures(): void {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const detail = (event as CustomEvent<RequestDetail>).detail;
    // A form that came back with its errors is an answer, not a failure.
    if (detail.xhr?.status === 422 || (detail.xhr?.status === 409 && detail.xhr.getResponseHeader("HX-Retarget"))) {
      detail.shouldSwap = true;
      detail.isError = false;
    }
    // A fragment that answers with the whole sign-in page: the session is over.
    const final = detail.xhr?.responseURL ?? "";
    if (detail.xhr?.status === 200 && /\/sign-in\/(\?|$)/.test(final) && !location.pathname.includes("/sign-in")) {
      detail.shouldSwap = false;
      if (!quiet(detail)) showFailure("signed-out");
    }
  });
  document.addEventListener("htmx:responseError", (event) => {
    const detail = (event as CustomEvent<RequestDetail>).detail;
    if (!quiet(detail)) showFailure(BY_STATUS[detail.xhr?.status ?? 0] ?? "server");
    else if (detail.xhr?.status === 401) tellSignedOut();
  });
  for (const type of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(type, (event) => {
      if (!quiet((event as CustomEvent<RequestDetail>).detail)) showFailure("offline");
    });
  }
  document.addEventListener("htmx:afterRequest", (event) => {
    const detail = (event as CustomEvent<RequestDetail & { successful?: boolean }>).detail;
    if (detail.successful && !quiet(detail)) clearFailures();
  });
}
