// The forms next to the editor: kernel, signature, constexprs, target, Triton and options.

import { assumedIn, assumptionsIn, launchLineOf, sentenceOf, type Assumption } from "./assumed";
import { AssumptionBar } from "./assumption_bar";
import { keep, kept } from "./browser_storage";
import { button, element, field, menu } from "./dom";
import { clearErrors, showErrors } from "./field_errors";
import { KernelChips } from "./kernel_chips";
import type { RequestText } from "./page_state";
import { chosenOf, constexprsOf, entriesOf, following, hasSameHead, KernelValues, optionsOf, SHORT, shortOf } from "./kernel_values";
import { backendOf, choicesOf, firstText, pythonText } from "./request";
import { PRODUCTS } from "./targets";
import type { Change } from "./trials";
import type { FieldError, Inspection, Kernel, OptionSpec, Toolchain } from "./wire";

const USUAL_OPTIONS = ["num_warps", "num_stages"];
const MOST_CONFIGS = 24;
const VENDORS: Readonly<Record<string, string>> = { cuda: "NVIDIA", hip: "AMD" };
const FOLDED = "tritond-forms";
const TYPES = [
  "*fp32:16", "*fp16:16", "*bf16:16", "*fp8e4nv:16", "*fp8e5:16", "*i32:16", "*i64:16", "*i8:16", "*i1:16", "*fp32",
  "i32", "i32:16", "i32:1", "i64", "fp32", "fp16", "u32", "i1",
];

export class RequestForm {
  private readonly summary = element("summary");
  readonly element = element("details", { className: "forms", open: kept("localStorage", FOLDED) === null && matchMedia("(min-width: 60rem)").matches }, this.summary);
  private toolchains: Toolchain[] = [];
  private kernels: Kernel[] = [];
  /** True if a request has to name its kernel, as the source lacks some. */
  private isNamed = false;
  /** The kernel that the forms were of last; a source may have none for a while. */
  private last: Kernel | null = null;
  private readonly values = new KernelValues();
  private errors: readonly FieldError[] = [];
  /** The parameters whose type or value somebody typed. */
  private readonly typed = new Set<string>();
  /** The parameters that were changed where they are listed as assumed, which go on to be listed. */
  private readonly changed = new Set<string>();
  /** The assumptions of the request, shown above its results. */
  readonly assumptions = new AssumptionBar(
    (assumption, text) => this.assumeOther(assumption, text),
    (line) => this.goTo(line),
  );
  readonly chips = new KernelChips((kernel) => this.choose(kernel));
  private readonly types = element("datalist", { id: "types" }, ...TYPES.map((value) => element("option", { value })));

  /**
   * `request` is changed in place; then `onChange` is called: `byUser`, or since the source has other kernels.
   * `onOther` is called before, where the forms are now of another kernel. `onChosen` is called when
   * somebody has chosen a kernel. `goTo` shows a line of the inspected source.
   */
  constructor(
    private request: RequestText,
    private readonly onChange: (byUser: boolean) => void,
    private readonly onOther: (was: Kernel, now: Kernel | null) => void,
    private readonly onChosen: (kernel: Kernel) => void,
    private readonly goTo: (line: number) => void,
  ) {
    this.element.addEventListener("toggle", () => keep("localStorage", FOLDED, this.element.open ? null : "folded"));
    this.draw();
  }

  /** Show another request. */
  open(request: RequestText): void {
    this.request = request;
    this.kernels = [];
    this.last = null;
    this.errors = [];
    this.forgetTyped();
    this.draw();
  }

  /** Show what is wrong with fields; return what has no field. */
  refuse(errors: readonly FieldError[]): FieldError[] {
    this.errors = errors;
    return showErrors(this.element, errors);
  }

  /** Remove what was wrong with fields. */
  accept(): void {
    this.errors = [];
    clearErrors(this.element);
  }

  /** Offer the deployment's targets and options. */
  offer(toolchains: Toolchain[]): void {
    this.toolchains = toolchains;
    this.draw();
  }

  /**
   * Update the forms for the kernels and parameters of the source. `lineNow` returns where a line of
   * the source before is now, null if it was deleted: a kernel whose `def` is still there was edited.
   * With `hasOtherFiles`, proposals replace those before, as they follow calls into the further files.
   */
  follow(inspection: Inspection, lineNow: (line: number) => number | null, hasOtherFiles = false): void {
    if (inspection.state !== "succeeded") return; // keep the forms while the source is incomplete
    const before = this.formKey();
    const head = this.kernel?.name;
    const [was, isOpened] = [this.kernel, !this.kernels.length && !this.last];
    if (was) this.values.keep(was, this.request);
    this.kernels = [...(inspection.written ?? []), ...withReading(inspection)];
    this.isNamed = Boolean(inspection.written?.length);
    const edited = was && this.kernels.find(({ name, line }) => name === was.name || line === lineNow(was.line));
    const isEdited = edited && lineNow(was.line) === edited.line;
    if (isEdited) this.request.kernel = this.isNamed || this.entries.length > 1 ? edited.name : null;
    const formerly = was ?? this.last;
    const next = (!isEdited || hasOtherFiles) && formerly ? this.kernels.find((each) => hasSameHead(each, formerly)) : undefined;
    if (next) Object.assign(this.request, this.values.ofNext(next, formerly!, this.request));
    this.fillIn(isOpened || Boolean(isEdited) || Boolean(next));
    if (formerly && this.kernel && !isEdited && !next) this.onOther(formerly, this.kernel);
    this.last = this.kernel ?? this.last;
    if (head !== undefined && this.kernel?.name !== head) this.forgetTyped();
    if (this.formKey() !== before) {
      this.draw();
      this.onChange(false);
    } else this.sum(); // its warnings, and the lines of kernels and launches
  }

  /** Ask for another target. */
  compileFor(target: string): void {
    this.request.target = target;
    this.draw();
    this.onChange(true);
  }

  /** Write texts into fields, as if somebody had typed them. */
  write(changes: readonly Change[]): void {
    for (const { part, name, text } of changes) {
      if (part !== "options" && !(name in this.request[part])) continue; // the kernel has no such parameter any more
      if (part !== "options") this.typed.add(name);
      this.request[part][name] = text;
    }
    this.draw();
    this.onChange(true);
  }

  /** Choose the kernel that is defined in these lines of the source, or around the first of them. */
  chooseAt(first: number, last: number): void {
    const inOrder = [...this.kernels].sort((one, other) => one.line - other.line);
    const kernel = inOrder.find(({ line }) => line >= first && line <= last) ?? inOrder.findLast(({ line }) => line <= first);
    if (kernel) this.choose(kernel);
  }

  /** The names of all jit functions of the source. */
  get functions(): string[] {
    return this.kernels.map((kernel) => kernel.name);
  }

  /** The kernel of the forms; null if there is none or several. */
  get kernel(): Kernel | null {
    return chosenOf(this.kernels, this.request.kernel);
  }

  /** Return what a request for the same source assumes, in words. */
  assumedBy(request: RequestText): string {
    return request.source === this.request.source ? sentenceOf(assumedIn(this.kernel, request, this.typed)) : "";
  }

  /** Jit functions without callers. */
  private get entries(): Kernel[] {
    return entriesOf(this.kernels);
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

  /** Fill in the values of the chosen kernel: as they are, if they are its own, else remembered or proposed ones. */
  private fillIn(isOwn: boolean): void {
    const { request } = this;
    if (request.kernel && !this.kernels.some(({ name }) => name === request.kernel)) request.kernel = null;
    const kernel = this.kernel ?? this.entries[0] ?? null;
    if (!kernel) return;
    if (this.isNamed || this.entries.length > 1) request.kernel = kernel.name;
    Object.assign(request, isOwn ? following(kernel, request) : this.values.of(kernel));
  }

  private draw(): void {
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const selected = focused instanceof HTMLInputElement ? ([focused.selectionStart, focused.selectionEnd] as const) : null;
    const wasOpen = this.element.querySelector("details")?.open ?? false;
    this.sum();
    this.element.replaceChildren(
      this.summary,
      this.types,
      element("div", { className: "row" }, this.language(), this.target(), this.version()),
      ...(this.request.language === "python"
        ? [this.group("Signature", "signature", "type", "types"), this.group("Constexprs", "constexprs", "value"), ...this.configs()]
        : []),
      ...this.options(wasOpen),
    );
    showErrors(this.element, this.errors);
    const again = focused && document.getElementById(focused.id);
    again?.focus();
    if (again instanceof HTMLInputElement && selected) again.setSelectionRange(...selected);
  }

  /** Say in one line what the forms ask for: `add_kernel(*fp32:16, …, i32) BLOCK=1024 w4 cuda:90`. */
  private sum(): void {
    const { language, signature, constexprs, options, target, triton } = this.request;
    const values = Object.entries(constexprs).map(([name, text]) => `${name}=${text || "?"}`);
    const chosen = Object.entries(options).map(([name, text]) => (SHORT[name] ? `${SHORT[name]}${text}` : `${name}=${text}`));
    const what = language === "python" ? `${this.kernel?.name ?? "kernel"}(${Object.values(signature).map((type) => type || "?").join(", ")})` : language.toUpperCase();
    this.summary.textContent = [what, ...values, ...chosen, target, ...(triton ? [`Triton ${triton}`] : [])].join("  ");
    const { kernel, request, typed, changed } = this;
    this.chips.show(language === "python" ? this.entries.sort((one, other) => one.line - other.line) : [], kernel);
    const warnings = language === "python" ? (kernel?.warnings ?? []) : [];
    this.assumptions.show(kernel?.name ?? "", launchLineOf(kernel, request), sentenceOf(assumedIn(kernel, request, typed)), assumptionsIn(kernel, request, typed, changed), warnings);
  }

  /** Write something else than what was assumed. */
  private assumeOther({ name, isConstexpr }: Assumption, text: string): void {
    this.typed.add(name);
    this.changed.add(name);
    this.request[isConstexpr ? "constexprs" : "signature"][name] = text;
    this.draw();
    this.onChange(true);
  }

  private forgetTyped(): void {
    this.typed.clear();
    this.changed.clear();
  }

  private language(): HTMLElement {
    const choices = [["python", "Triton (Python)"], ["ttir", "TTIR"], ["ttgir", "TTGIR"]] as const;
    const chosen = menu(choices, this.request.language, { id: "language" });
    return this.labelled("Language", "/language", chosen, (value) => {
      this.request.language = value as RequestText["language"];
      this.draw();
    });
  }

  private choose({ name }: Kernel): void {
    const was = this.kernel;
    if (was?.name !== name) {
      if (was) this.values.keep(was, this.request);
      this.request.kernel = name;
      this.forgetTyped();
      this.fillIn(false);
      if (was) this.onOther(was, this.kernel);
      this.last = this.kernel;
      this.errors = [];
      this.draw();
      this.onChange(true);
    }
    if (this.kernel) this.onChosen(this.kernel);
  }

  private target(): HTMLElement {
    const offered = this.toolchain?.targets ?? [];
    const targets = offered.includes(this.request.target) ? offered : [this.request.target, ...offered];
    const chosen = element("select", { id: "target" }, ...groupsOf(targets));
    chosen.value = this.request.target;
    return this.labelled("Target", "/target", chosen, (value) => {
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
    return this.labelled("Triton", "/triton", chosen, (value) => {
      this.request.triton = value || null;
      this.draw();
    });
  }

  private group(title: string, part: "signature" | "constexprs", what: string, list?: string): HTMLElement {
    const fields = Object.keys(this.request[part]).map((name) => {
      const { kernel } = this;
      const parameter = kernel?.parameters.find((each) => each.name === name);
      const proposal = parameter?.proposal;
      const guess = parameter ? firstText(parameter, kernel!) : "";
      const title = proposal ? `Line ${proposal.line}: ${name} ${proposal.reason}` : "";
      const input = element("input", { id: `${what}-${name}`, title, value: this.request[part][name], placeholder: guess, spellcheck: false, autocomplete: "off", list });
      input.addEventListener("change", () => {
        if (input.value.trim() || !guess) return;
        input.value = guess;
        input.dispatchEvent(new Event("input"));
        this.typed.delete(name);
        this.sum();
      });
      return this.labelled(name, `/${part}/${name}`, input, (value) => {
        this.typed.add(name);
        this.request[part][name] = value; // read the request late: updates from the source replace it
      });
    });
    const none = element("p", { className: "faint" }, title === "Signature" ? "No kernel found yet." : "None.");
    return element("fieldset", {}, element("legend", {}, title), ...(fields.length ? fields : [none]));
  }

  /** The configurations of the kernel's autotuner: a click fills in its constexprs and options. */
  private configs(): HTMLElement[] {
    const configs = this.kernel?.configs ?? [];
    if (!configs.length) return [];
    const { request } = this;
    const chips = configs.slice(0, MOST_CONFIGS).map((config) => {
      const [constexprs, options] = [constexprsOf(config), optionsOf(config)];
      const isChosen = isWithin(constexprs, request.constexprs) && isWithin(options, request.options);
      const choose = (): void => {
        Object.assign(request.constexprs, constexprs);
        request.options = { ...request.options, ...options };
        this.draw();
        this.onChange(true);
      };
      return button(shortOf(config), choose, { className: "chip", "aria-pressed": String(isChosen) });
    });
    const rest = configs.length > MOST_CONFIGS ? [element("span", { className: "faint" }, `and ${configs.length - MOST_CONFIGS} more`)] : [];
    return [element("fieldset", { className: "chips" }, element("legend", {}, "Autotuner"), ...chips, ...rest)];
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
    return this.labelled(name, `/options/${name}`, control, (text) => {
      if (text) this.request.options[name] = text;
      else delete this.request.options[name];
    });
  }

  private labelled(name: string, pointer: string, control: HTMLInputElement | HTMLSelectElement, change: (value: string) => void): HTMLElement {
    control.addEventListener(control instanceof HTMLSelectElement ? "change" : "input", () => {
      change(control.value);
      this.sum();
      this.errors = this.errors.filter(({ pointer: wrong }) => wrong !== pointer);
      this.onChange(true);
    });
    control.dataset.pointer = pointer;
    return field(name, control);
  }
}

/** Return the choices of targets, by vendor, with names of products. */
function groupsOf(targets: readonly string[]): HTMLElement[] {
  return Object.entries(VENDORS).flatMap(([backend, label]) => {
    const own = targets.filter((name) => backendOf(name) === backend);
    const choices = own.map((name) => element("option", { value: name }, [name, PRODUCTS.get(name)].filter(Boolean).join("  ")));
    return own.length ? [element("optgroup", { label }, ...choices)] : [];
  });
}

/** Return the kernels; where executing a kernel's decorators gave configurations, with these. */
function withReading({ kernels, autotune }: Inspection): Kernel[] {
  return kernels.map((kernel) => {
    const literal = kernel.configs.filter(({ expression }) => !expression);
    if (kernel.name !== autotune?.kernel) return { ...kernel, configs: literal };
    const literals = (values: Record<string, unknown>): Record<string, { literal: unknown }> =>
      Object.fromEntries(Object.entries(values).map(([name, literal]) => [name, { literal }]));
    return { ...kernel, configs: autotune.configs.map(({ values, options }) => ({ constexprs: literals(values), options: literals(options) })) };
  });
}

/** Return true if `all` has all values of `some`. */
function isWithin(some: Record<string, string>, all: Record<string, string>): boolean {
  return Object.entries(some).every(([name, text]) => all[name] === text);
}
