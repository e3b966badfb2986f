// The badge of a kernel that is proved as a whole: in bounds and without overflow, for all sizes.

import { element } from "./dom";
import { isWhole, type Proof } from "./proof";

const MOST_CHARS = 90;

export class ProofBadge {
  readonly element = element("p", { className: "proof-badge good", role: "status", hidden: true });

  clear(): void {
    [this.element.hidden, this.element.textContent] = [true, ""];
  }

  /** Show it for a full proof, and for nothing else. */
  show(proof: Proof): void {
    this.clear();
    if (!isWhole(proof) || !proof.contract) return;
    const statements = proof.contract.split("\n").map((line) => line.replace(/#.*/, "").trim()).filter(Boolean).join("; ");
    const short = statements.length > MOST_CHARS ? `${statements.slice(0, MOST_CHARS)} …` : statements;
    this.element.textContent = `✓ Proved for all sizes under ${short}`;
    this.element.title = proof.contract;
    this.element.hidden = false;
  }
}
