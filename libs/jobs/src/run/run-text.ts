import type { Delta, JobEventBodies, NewJobEvent } from '../events/job-event.js';
import { type ShownPiece, ShownText } from '../text/shown-text.js';
import type { ShownTexts } from '../text/shown-texts.js';
import type { TextPlace } from '../text/text-place.js';

/** The text of a run as its log shows it: the content of the job, its reasoning, and text that only nodes show. Pure. */
export class RunText {
  private readonly content: ShownText;
  private readonly reason = new ShownText(0);

  constructor(contentLength: number) {
    this.content = new ShownText(contentLength);
  }

  get contentLength(): number {
    return this.content.length;
  }

  text(round: number, text: string, place?: TextPlace): Delta {
    return { type: 'text-delta', body: bodyOf(this.content, { round, text }, place) };
  }

  reasoning(round: number, text: string, place?: TextPlace): Delta {
    return { type: 'reasoning-delta', body: bodyOf(this.reason, { round, text }, place) };
  }

  /** Returns the length that the round adds to the committed content. */
  close(round: number): number {
    this.reason.close(round);
    return this.content.close(round);
  }

  /** The withdrawal of a round, then later content of other rounds once more; their nodes keep their text. */
  restart(round: number, reason: string, place?: TextPlace): readonly [Restarted, ...NewJobEvent[]] {
    const text = this.content.withdraw(round);
    const reasoning = this.reason.withdraw(round);
    const body = { round, reason, contentLength: text.length, reasoningLength: reasoning.length, ...shownAt(place) };
    return [
      { type: 'round-restarted', body },
      ...text.again.map((piece): Delta => ({ type: 'text-delta', body: piece })),
      ...reasoning.again.map((piece): Delta => ({ type: 'reasoning-delta', body: piece })),
    ];
  }

  resumeReasoningAt(length: number): void {
    this.reason.length = length;
  }

  resume({ text, reasoning, before = { text: 0, reasoning: 0 }, open }: ShownTexts): void {
    const isOpen = (round: number): boolean => open.has(round);
    this.content.resume(before.text, text, isOpen);
    this.reason.resume(before.reasoning, reasoning, isOpen);
  }
}

interface Restarted {
  readonly type: 'round-restarted';
  readonly body: JobEventBodies['round-restarted'];
}

function bodyOf(shown: ShownText, { round, text }: ShownPiece, place: TextPlace | undefined): Delta['body'] {
  if (place === undefined) return { round, offset: shown.add(round, text), text };
  const offset = place.isContent ? { offset: shown.add(round, text) } : {};
  return { round, ...offset, text, ...shownAt(place) };
}

function shownAt(place: TextPlace | undefined): { readonly nodeId?: string; readonly branchId?: string } {
  if (place === undefined) return {};
  const { nodeId, branchId } = place;
  return branchId === undefined ? { nodeId } : { nodeId, branchId };
}
