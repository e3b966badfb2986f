// Highlighting for languages that CodeMirror lacks: MLIR, LLVM IR, PTX, SASS and AMD's assembly.

import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { python } from "@codemirror/lang-python";
import type { Extension } from "@codemirror/state";
import { BY_NAME } from "./stages";

interface Nothing {}
type Rule = readonly [RegExp, string | null];

function words(rules: readonly Rule[], comment: string): StreamParser<Nothing> {
  return {
    startState: () => ({}),
    token(stream) {
      if (stream.eatSpace()) return null;
      for (const [pattern, style] of rules) if (stream.match(pattern)) return style;
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: comment } },
  };
}

const MLIR = words(
  [
    [/^\/\/.*/, "comment"],
    [/^loc\((?:"[^"]*"|#loc\d*)[^)]*\)+/, "comment"],
    [/^#loc\d*( = .*)?/, "comment"],
    [/^"(?:[^"\\]|\\.)*"/, "string"],
    [/^%[\w$.-]+(?:[:#]\d+)?/, "variableName"],
    [/^@[\w$.-]+/, "labelName"],
    [/^[#!][\w$.-]+/, "typeName"],
    [/^\^\w+/, "labelName"],
    [/^(?:true|false|dense|unit)\b/, "atom"],
    [/^(?:tensor|memref|vector|index|none|bf16|tf32|[iuf]\d+\w*|si\d+|ui\d+)\b/, "typeName"],
    [/^[a-z]\w*\.[\w.]+/, "keyword"],
    [/^(?:module|attributes|public|private|return|func)\b/, "keyword"],
    [/^-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/, "number"],
    [/^[\w$]+/, null],
  ],
  "//",
);
const LLVM = words(
  [
    [/^;.*/, "comment"],
    [/^[ck]?"(?:[^"\\]|\\.)*"/, "string"],
    [/^%[\w$.-]+/, "variableName"],
    [/^@[\w$.-]+/, "labelName"],
    [/^[!#][\w.]*/, "meta"],
    [/^(?:i\d+|half|bfloat|float|double|ptr|void|label|metadata)\b/, "typeName"],
    [/^(?:true|false|null|undef|poison|zeroinitializer)\b/, "atom"],
    [/^(?:define|declare|ret|br|call|tail|load|store|phi|select|icmp|fcmp|getelementptr|inbounds|asm|sideeffect|to|add|sub|mul|fadd|fmul|fsub|fdiv|and|or|xor|shl|lshr|ashr|zext|sext|trunc|bitcast|insertvalue|extractvalue|insertelement|extractelement|shufflevector|target|source_filename|attributes|switch|unreachable|urem|srem|udiv|sdiv)\b/, "keyword"],
    [/^-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b/, "number"],
    [/^[\w$.]+:/, "labelName"],
    [/^[\w$.]+/, null],
  ],
  ";",
);
const PTX = words(
  [
    [/^\/\/.*/, "comment"],
    [/^"(?:[^"\\]|\\.)*"/, "string"],
    [/^\.loc\b.*/, "comment"],
    [/^%[\w$.]+/, "variableName"],
    [/^@!?/, "operator"],
    [/^\.[\w.]+/, "meta"],
    [/^\$?[\w$]+:/, "labelName"],
    [/^\$[\w$]+/, "labelName"],
    [/^-?(?:0[xfFdD][0-9a-fA-F]+|\d+(?:\.\d+)?)\b/, "number"],
    [/^[a-z][\w]*(?:\.[\w:]+)+/, "keyword"],
    [/^(?:ret|exit|bra)\b/, "keyword"],
    [/^[\w$]+/, null],
  ],
  "//",
);
const SASS = words(
  [
    [/^\/\/.*/, "comment"],
    [/^\/\*.*?\*\//, "comment"],
    [/^@!?U?P\w*/, "operator"],
    [/^\.[\w.]+:/, "labelName"],
    [/^\.[\w.]+/, "meta"],
    [/^(?:U?R\d+|U?RZ|U?P\d|U?PT|SR_[\w.]+|B\d+)(?:\.\w+)*/, "variableName"],
    [/^-?0x[0-9a-f]+/, "number"],
    [/^[A-Z][A-Z0-9_]+(?:\.[\w.]+)?/, "keyword"],
    [/^-?\d+(?:\.\d+)?/, "number"],
    [/^[\w$]+/, null],
  ],
  "//",
);
const AMDGCN = words(
  [
    [/^;.*/, "comment"],
    [/^\/\/.*/, "comment"],
    [/^"(?:[^"\\]|\\.)*"/, "string"],
    [/^\.[\w.]+:/, "labelName"],
    [/^\.[\w.]+/, "meta"],
    [/^(?:[sva]\d+|[sva]\[\d+:\d+\]|vcc(?:_lo|_hi)?|exec(?:_lo|_hi)?|scc|m0|off)\b/, "variableName"],
    [/^(?:s|v|ds|global|buffer|flat|scratch|cluster|tensor)_\w+/, "keyword"],
    [/^-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?)\b/, "number"],
    [/^[\w$]+/, null],
  ],
  ";",
);

const PARSERS: Record<string, StreamParser<Nothing>> = {
  mlir: MLIR, llvm: LLVM, ptx: PTX, sass: SASS, amdgcn: AMDGCN,
};

/** Return the language of an artifact or of a source. */
export function languageOf(name: string): Extension {
  const parser = PARSERS[BY_NAME.get(name)?.syntax ?? ""];
  return parser ? StreamLanguage.define(parser) : python();
}
