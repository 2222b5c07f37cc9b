// Passkeys: a form with `data-passkey` asks the browser for one (`create`) or to prove one (`get`), and goes with what it
// answered. The options lie in the page (`data-options`, the id of a JSON script), or are fetched (`data-from`).
import { each } from "../dom";

interface Options {
  creation_options?: { publicKey: PublicKeyCredentialCreationOptionsJSON };
  request_options?: { publicKey: PublicKeyCredentialRequestOptionsJSON };
}

/** Browsers have passkeys at addresses with a name, over https or on this machine, and never at a bare IP address. */
function possible(): boolean {
  const isName = !/^[\d.]+$|^\[/.test(location.hostname);
  return isName && "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;
}

async function options(form: HTMLFormElement): Promise<Options> {
  const { from, options: id } = form.dataset;
  if (from === undefined) return JSON.parse(document.getElementById(id ?? "")?.textContent ?? "{}") as Options;
  const answer = await fetch(from, { headers: { Accept: "application/json" } });
  return (await answer.json()) as Options;
}

async function ask(form: HTMLFormElement): Promise<PublicKeyCredential | null> {
  const { creation_options: create, request_options: get } = await options(form);
  if (create) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(create.publicKey);
    // One that signs in by itself: it is kept in the device and unlocked there.
    publicKey.authenticatorSelection = {
      ...publicKey.authenticatorSelection,
      residentKey: "required",
      requireResidentKey: true,
      userVerification: "required",
    };
    return (await navigator.credentials.create({ publicKey })) as PublicKeyCredential | null;
  }
  if (!get) return null;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(get.publicKey);
  return (await navigator.credentials.get({ publicKey })) as PublicKeyCredential | null;
}

each<HTMLFormElement>("form[data-passkey]", (form) => {
  const credential = form.elements.namedItem("credential") as HTMLInputElement;
  const problem = form.querySelector<HTMLElement>("[data-passkey-problem]");
  const say = (text: string): void => {
    if (problem) problem.textContent = text;
  };
  if (possible()) form.hidden = false;
  else say("Passkeys need a host name, https, and a browser that supports them.");
  form.addEventListener("submit", (event) => {
    if (credential.value) return;
    event.preventDefault();
    if (!possible()) return;
    say("");
    ask(form).then(
      (given) => {
        if (!given) return;
        credential.value = JSON.stringify(given.toJSON());
        form.requestSubmit();
      },
      () => say("No passkey was used."),
    );
  });
});
