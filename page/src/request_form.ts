// The forms beside the editor: kernel, signature, constexprs, target, Triton and options.

import { element, field, menu } from "./dom";
import type { RequestText } from "./page_state";
import { backendOf, choicesOf, firstText, pythonText } from "./request";
import type { Inspection, Kernel, OptionSpec, Toolchain } from "./wire";

const USUAL_OPTIONS = ["num_warps", "num_stages"];
const TYPES = [
  "*fp32:16", "*fp16:16", "*bf16:16", "*fp8e4nv:16", "*fp8e5:16", "*i32:16", "*i64:16", "*i8:16", "*i1:16", "*fp32",
  "i32", "i32:16", "i32:1", "i64", "fp32", "fp16", "u32", "i1",
];

export class RequestForm {
  readonly element = element("div", { className: "forms" });
  private toolchains: Toolchain[] = [];
  private kernels: Kernel[] = [];
  private readonly types = element("datalist", { id: "types" }, ...TYPES.map((value) => element("option", { value })));

  /** `request` is changed in place; then `onChange` is called. */
  constructor(
    private request: RequestText,
    private readonly onChange: () => void,
  ) {
    this.draw();
  }

  /** Show another request. */
  open(request: RequestText): void {
    this.request = request;
    this.kernels = [];
    this.draw();
  }

  /** Offer the deployment's targets and options. */
  offer(toolchains: Toolchain[]): void {
    this.toolchains = toolchains;
    this.draw();
  }

  /** Update the forms for the kernels and parameters of the source. */
  follow(inspection: Inspection): void {
    if (inspection.state !== "succeeded") return; // keep the forms while the source is incomplete
    const before = this.formKey();
    this.kernels = inspection.kernels;
    this.fillIn();
    if (this.formKey() !== before) {
      this.draw();
      this.onChange();
    }
  }

  /** The names of all jit functions of the source. */
  get functions(): string[] {
    return this.kernels.map((kernel) => kernel.name);
  }

  /** The kernel of the forms; null if there is none or several. */
  get kernel(): Kernel | null {
    const named = this.kernels.find((kernel) => kernel.name === this.request.kernel);
    return named ?? (this.entries.length === 1 ? this.entries[0]! : null);
  }

  /** Jit functions without callers. */
  private get entries(): Kernel[] {
    const called = new Set(this.kernels.flatMap((kernel) => kernel.calls));
    const entries = this.kernels.filter((kernel) => !called.has(kernel.name));
    return entries.length ? entries : this.kernels;
  }

  private get toolchain(): Toolchain | undefined {
    return (
      this.toolchains.find(({ triton }) => triton === this.request.triton) ??
      this.toolchains.find((toolchain) => toolchain.default)
    );
  }

  private formKey(): string {
    const { kernel, signature, constexprs } = this.request;
    return JSON.stringify([kernel, signature, constexprs, this.kernels.map(({ name }) => name), this.kernel?.parameters]);
  }

  private fillIn(): void {
    const { request } = this;
    if (request.kernel && !this.kernels.some(({ name }) => name === request.kernel)) request.kernel = null;
    const kernel = this.kernel ?? this.entries[0] ?? null;
    if (!kernel) return;
    if (this.entries.length > 1) request.kernel = kernel.name;
    const [signature, constexprs]: Record<string, string>[] = [{}, {}];
    for (const parameter of kernel.parameters) {
      const typed = request.signature[parameter.name] ?? request.constexprs[parameter.name];
      const isMoved = parameter.constexpr !== parameter.name in request.constexprs;
      const text = typed === undefined || isMoved ? firstText(parameter, kernel) : typed;
      (parameter.constexpr ? constexprs! : signature!)[parameter.name] = text;
    }
    request.signature = signature!;
    request.constexprs = constexprs!;
  }

  private draw(): void {
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : "";
    const wasOpen = this.element.querySelector("details")?.open ?? false;
    this.element.replaceChildren(
      this.types,
      element("div", { className: "row" }, this.language(), this.kernelMenu(), this.target(), this.version()),
      ...(this.request.language === "python"
        ? [this.group("Signature", "signature", "type", "types"), this.group("Constexprs", "constexprs", "value")]
        : []),
      ...this.options(wasOpen),
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  private language(): HTMLElement {
    const choices = [["python", "Triton (Python)"], ["ttir", "TTIR"], ["ttgir", "TTGIR"]] as const;
    const chosen = menu(choices, this.request.language, { id: "language" });
    return this.labelled("Language", chosen, (value) => {
      this.request.language = value as RequestText["language"];
      this.draw();
    });
  }

  private kernelMenu(): HTMLElement | null {
    if (this.request.language !== "python") return null;
    const names = this.entries.map(({ name }) => [name, name] as const);
    const chosen = menu(names.length ? names : [["", "none found"]], this.kernel?.name ?? "", { id: "kernel" });
    return this.labelled("Kernel", chosen, (value) => {
      this.request.kernel = value;
      this.request.signature = {};
      this.request.constexprs = {};
      this.fillIn();
      this.draw();
    });
  }

  private target(): HTMLElement {
    const offered = this.toolchain?.targets ?? [];
    const targets = offered.includes(this.request.target) ? offered : [this.request.target, ...offered];
    const chosen = menu(targets.map((name) => [name, name]), this.request.target, { id: "target" });
    return this.labelled("Target", chosen, (value) => {
      const isOther = backendOf(value) !== backendOf(this.request.target);
      this.request.target = value;
      if (isOther) this.draw();
    });
  }

  private version(): HTMLElement {
    const versions = [...new Set(this.toolchains.map(({ triton }) => triton))];
    const usual = this.toolchains.find((toolchain) => toolchain.default)?.triton;
    const asked = this.request.triton;
    const others = asked && !versions.includes(asked) ? [asked] : [];
    const choices = [["", usual ? `${usual} (default)` : "default"], ...[...others, ...versions].filter((name) => name !== usual || name === asked).map((name) => [name, name])];
    const chosen = menu(choices as [string, string][], asked ?? "", { id: "triton" });
    return this.labelled("Triton", chosen, (value) => {
      this.request.triton = value || null;
      this.draw();
    });
  }

  private group(title: string, part: "signature" | "constexprs", what: string, list?: string): HTMLElement {
    const fields = Object.keys(this.request[part]).map((name) => {
      const input = element("input", { id: `${what}-${name}`, value: this.request[part][name], spellcheck: false, autocomplete: "off", list });
      return this.labelled(name, input, (value) => {
        this.request[part][name] = value; // read the request late: updates from the source replace it
      });
    });
    const none = element("p", { className: "faint" }, title === "Signature" ? "No kernel found yet." : "None.");
    return element("fieldset", {}, element("legend", {}, title), ...(fields.length ? fields : [none]));
  }

  private options(wasOpen: boolean): HTMLElement[] {
    const offered = this.toolchain?.options[backendOf(this.request.target)] ?? {};
    const fields = (names: string[]): HTMLElement[] => names.filter((name) => offered[name]).map((name) => this.option(name, offered[name]!));
    const rare = Object.keys(offered).filter((name) => !USUAL_OPTIONS.includes(name));
    const isSet = rare.some((name) => this.request.options[name]);
    const more = element("details", { open: wasOpen || isSet }, element("summary", {}, "More options"), element("div", { className: "fields" }, ...fields(rare)));
    return [element("fieldset", {}, element("legend", {}, "Options"), ...fields(USUAL_OPTIONS), more)];
  }

  private option(name: string, spec: OptionSpec): HTMLElement {
    const usual = spec.default === null ? "default" : `${pythonText(spec.default)} (default)`;
    const choices = choicesOf(spec);
    const value = this.request.options[name] ?? "";
    const control = choices
      ? menu([["", usual], ...choices.map((text) => [text, text] as const)], value, { id: `option-${name}` })
      : element("input", {
          id: `option-${name}`, value, placeholder: usual, inputMode: "numeric", autocomplete: "off",
          title: spec.minimum === null ? "" : `${spec.minimum} to ${spec.maximum ?? "any"}`,
        });
    return this.labelled(name, control, (text) => {
      if (text) this.request.options[name] = text;
      else delete this.request.options[name];
    });
  }

  private labelled(name: string, control: HTMLInputElement | HTMLSelectElement, change: (value: string) => void): HTMLElement {
    control.addEventListener(control instanceof HTMLSelectElement ? "change" : "input", () => {
      change(control.value);
      this.onChange();
    });
    return field(name, control);
  }
}
