// Layouts of TTGIR types in linear form, and what of them holds each element.

/** A type of a TTGIR module, as the service answers it: see `GET /v1/compilations/{key}/layouts`. */
export interface TypeLayout {
  type: string;
  shape: number[];
  kind: "distributed" | "shared" | "tensor_memory" | null;
  /** Offsets into the tensor of 1, 2, 4 … of each coordinate: registers, lanes, warps and so on. */
  bases: Record<string, number[][]> | null;
  problem: string | null;
}

/** A number of each coordinate. */
export type Holder = Readonly<Record<string, number>>;

/** The registers, lanes and warps, or the offsets of memory, that hold the elements of a tensor. */
export class ElementHolders {
  private readonly names: readonly { name: string; from: number; bits: number }[];
  /** The element that each holder has; the bits of a holder's number are those of its coordinates. */
  private readonly elements: Int32Array;
  private readonly first: Int32Array;
  private readonly counts: Int32Array;

  constructor(
    bases: Record<string, number[][]>,
    readonly shape: readonly number[],
  ) {
    const offsets: number[] = [];
    this.names = Object.entries(bases).map(([name, each]) => {
      const from = offsets.length;
      offsets.push(...each.map((base) => this.numberOf(base)));
      return { name, from, bits: each.length };
    });
    const size = shape.reduce((product, extent) => product * extent, 1);
    this.elements = new Int32Array(1 << offsets.length);
    this.first = new Int32Array(size).fill(-1);
    this.counts = new Int32Array(size);
    // extents are powers of two, so elements are numbered by bits, and offsets add by XOR
    for (let holder = 0; holder < this.elements.length; holder += 1) {
      const bit = 31 - Math.clz32(holder);
      const element = holder ? this.elements[holder ^ (1 << bit)]! ^ offsets[bit]! : 0;
      this.elements[holder] = element;
      if (this.counts[element] === 0) this.first[element] = holder;
      this.counts[element]! += 1;
    }
  }

  /** Return the first holder of an element. */
  of(element: number): Holder {
    const holder = this.first[element]!;
    return Object.fromEntries(this.names.map(({ name, from, bits }) => [name, (holder >> from) & ((1 << bits) - 1)]));
  }

  /** Return the number of those that hold the element. */
  count(element: number): number {
    return this.counts[element]!;
  }

  /** Return the elements of all holders that agree with the element's first one, but for a coordinate. */
  besides(element: number, coordinate: string): Set<number> {
    const holder = this.first[element]!;
    const free = this.names.find(({ name }) => name === coordinate);
    if (!free) return new Set([element]);
    const fixed = holder & ~(((1 << free.bits) - 1) << free.from);
    return new Set(Array.from({ length: 1 << free.bits }, (_, number) => this.elements[fixed | (number << free.from)]!));
  }

  /** Return the number of an element, row by row. */
  numberOf(index: readonly number[]): number {
    return index.reduce((number, each, axis) => number * this.shape[axis]! + each, 0);
  }

  /** Return the index of an element. */
  indexOf(element: number): number[] {
    let left = element;
    return [...this.shape].reverse().map((extent) => {
      const each = left % extent;
      left = Math.floor(left / extent);
      return each;
    }).reverse();
  }
}
