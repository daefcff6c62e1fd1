import type { JobEvent, JobEventOf } from '@nightshift/client';

import { oneLine, plainText } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';
import { eventName } from './event-line.js';
import { lookUp } from './event-table.js';
import type { JobView } from './job-view.js';
import { sayEvent } from './say-event.js';

/** Number, time, name: the columns before the details of an event. */
const NUMBER_WIDTH = 5;
const NAME_WIDTH = 18;
const INDENT = ' '.repeat(NUMBER_WIDTH + 2 + 12 + 2);

/** The log of a job, an event on a line; text that follows itself is joined, and grows as it comes. */
export class LogView implements JobView {
  /** The round and node whose text is being written; undefined: none is. */
  private writing: string | undefined;

  constructor(private readonly screen: Screen) {}

  show(event: JobEvent): void {
    if (event.__typename === 'TextDeltaEvent' || event.__typename === 'ReasoningDeltaEvent') {
      this.showText(event);
      return;
    }
    this.endText();
    const name = this.screen.ink('bold', eventName(event.__typename).padEnd(NAME_WIDTH));
    this.screen.line(`${this.head(event)}${name} ${lookUp(sayEvent, event) ?? ''}`.trimEnd());
    if (event.__typename === 'JobSnapshotEvent' && event.content !== '') this.showBlock(event.content);
  }

  close(): void {
    this.endText();
  }

  private showText(event: JobEventOf<'TextDeltaEvent' | 'ReasoningDeltaEvent'>): void {
    const place = [event.__typename, event.round, event.nodeId ?? '', event.branchId ?? ''].join(' ');
    if (this.writing !== place) {
      this.endText();
      const where = event.nodeId === null ? '' : `${oneLine(event.nodeId)} `;
      const name = eventName(event.__typename).replace('-delta', '');
      this.screen.text(`${this.head(event)}${this.screen.ink('bold', name.padEnd(NAME_WIDTH))} ${where}`);
      this.writing = place;
    }
    this.screen.text(plainText(event.text).replaceAll('\n', `\n${INDENT}`));
  }

  private endText(): void {
    if (this.writing !== undefined) this.screen.text('\n');
    this.writing = undefined;
  }

  private showBlock(text: string): void {
    for (const line of plainText(text).trimEnd().split('\n')) this.screen.line(INDENT + line);
  }

  private head({ seq, at }: JobEvent): string {
    const time = new Date(at).toTimeString().slice(0, 8);
    const ms = String(new Date(at).getMilliseconds()).padStart(3, '0');
    return this.screen.ink('dim', `${String(seq).padStart(NUMBER_WIDTH)}  ${time}.${ms}  `);
  }
}
