import type { AnswerPart } from './answer-part.js';

/** What all chunks of an answer have in common. */
export interface AnswerHead {
  /** `chatcmpl-<12 hex>` */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

/** Writes an answer as lines of an event stream, each a `chat.completion.chunk`, a comment or `[DONE]`. */
export class ChunkWriter {
  constructor(
    private readonly head: AnswerHead,
    private readonly options: { readonly includeUsage: boolean },
  ) {}

  /** The first chunk: who speaks. */
  role(): string {
    return `${this.head.id}${String(this.options.includeUsage)}`;
  }

  /** What a part is on the wire; after the end, with `[DONE]`. */
  lines(part: AnswerPart): string {
    return part.type;
  }
}

/** A comment of an event stream: one line, whatever `text` is. */
export function commentLine(text: string): string {
  return `: ${text}\n\n`;
}
