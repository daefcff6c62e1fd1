import type { SecretRange } from './credential-shapes.js';
import type { Secret } from './secret.js';
import { formsOf, SHORTEST_KNOWN } from './secret-forms.js';

/** Secrets that are known by their text, in every form they are likely to take. */
export class KnownSecrets {
  private readonly counts = new Map<string, number>();
  /** Length of the longest form there ever was. */
  longest = 0;

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /** Returns the removal. Counted: two jobs may hold the same key. Under 8 characters: ignored. */
  add(secret: Secret): () => void {
    const value = secret.reveal();
    if (value.length < SHORTEST_KNOWN) return () => undefined;
    const forms = formsOf(value);
    for (const form of forms) {
      this.counts.set(form, (this.counts.get(form) ?? 0) + 1);
      this.longest = Math.max(this.longest, form.length);
    }
    let isHeld = true;
    return () => {
      if (isHeld) for (const form of forms) this.release(form);
      isHeld = false;
    };
  }

  *find(text: string): Generator<SecretRange> {
    for (const form of this.counts.keys()) {
      for (let start = text.indexOf(form); start !== -1;) {
        let end = start + form.length;
        let next = text.indexOf(form, start + 1);
        for (; next !== -1 && next < end; next = text.indexOf(form, next + 1)) end = next + form.length;
        yield { from: start, start, end };
        start = next;
      }
    }
  }

  /** Where a secret may begin that the end of the text cuts in two; the text's length: nowhere. */
  cutIn(text: string): number {
    const starts = [...this.counts.keys()].map((form) => {
      for (let length = Math.min(form.length - 1, text.length); length > 0; length--) {
        if (text.endsWith(form.slice(0, length))) return text.length - length;
      }
      return text.length;
    });
    return starts.reduce((least, start) => Math.min(least, start), text.length);
  }

  private release(form: string): void {
    const count = this.counts.get(form) ?? 0;
    if (count > 1) this.counts.set(form, count - 1);
    else this.counts.delete(form);
  }
}
