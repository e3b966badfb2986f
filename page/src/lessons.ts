// All lessons, in their order. They are loaded with the page of lessons alone.

import type { Lesson } from "./lesson";
import { BLOCK_LESSONS } from "./lessons_blocks";
import { LOOP_LESSONS } from "./lessons_loops";
import { MEMORY_LESSONS } from "./lessons_memory";
import { MODEL_LESSONS } from "./lessons_models";

export const CHAPTERS: readonly (readonly [string, readonly Lesson[]])[] = [
  ["Blocks", BLOCK_LESSONS],
  ["Loops", LOOP_LESSONS],
  ["Edges, bounds and races", MEMORY_LESSONS],
  ["Kernels of models", MODEL_LESSONS],
];
export const LESSONS: readonly Lesson[] = CHAPTERS.flatMap(([, lessons]) => lessons);
