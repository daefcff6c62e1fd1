import type { Logger } from '../logger.js';
import type { BusMessages, BusTopic } from './bus.js';
import { type Hint, PendingHints } from './pending-hints.js';

type Listeners = { readonly [T in BusTopic]: Set<(message: BusMessages[T]) => void> };

/** The subscribers of one process. Hints are merged (`PendingHints`) and delivered asynchronously, once per turn of the event loop. */
export class BusListeners {
  private readonly listeners: Listeners = {
    'job-events': new Set(),
    'job-runnable': new Set(),
    'job-cancel': new Set(),
    'sub-jobs': new Set(),
    'access-changed': new Set(),
    'interrupts-changed': new Set(),
    'tool-queue': new Set(),
    'tool-cancel': new Set(),
    'plugin-loaded': new Set(),
  };
  private readonly gaps = new Set<() => void>();
  private readonly pending = new PendingHints();
  private scheduled = false;

  constructor(private readonly logger: Logger) {}

  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    return enter(this.listeners[topic], listener);
  }

  onGap(listener: () => void): () => void {
    return enter(this.gaps, listener);
  }

  deliver(hint: Hint): void {
    this.pending.add(hint);
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.flush();
    });
  }

  gap(): void {
    for (const listener of [...this.gaps]) this.guard(listener);
  }

  /** Delivers all pending hints at once. */
  flush(): void {
    this.scheduled = false;
    for (const hint of this.pending.take()) this.hand(hint);
  }

  private hand(hint: Hint): void {
    switch (hint.topic) {
      case 'job-events': {
        this.each(this.listeners['job-events'], hint.message);
        return;
      }
      case 'job-runnable': {
        this.each(this.listeners['job-runnable'], hint.message);
        return;
      }
      case 'job-cancel': {
        this.each(this.listeners['job-cancel'], hint.message);
        return;
      }
      case 'sub-jobs': {
        this.each(this.listeners['sub-jobs'], hint.message);
        return;
      }
      case 'access-changed': {
        this.each(this.listeners['access-changed'], hint.message);
        return;
      }
      case 'interrupts-changed': {
        this.each(this.listeners['interrupts-changed'], hint.message);
        return;
      }
      case 'tool-queue': {
        this.each(this.listeners['tool-queue'], hint.message);
        return;
      }
      case 'tool-cancel': {
        this.each(this.listeners['tool-cancel'], hint.message);
        return;
      }
      case 'plugin-loaded': {
        this.each(this.listeners['plugin-loaded'], hint.message);
        return;
      }
    }
  }

  private each<M>(listeners: ReadonlySet<(message: M) => void>, message: M): void {
    for (const listener of [...listeners]) {
      if (!listeners.has(listener)) continue; // unsubscribed during this delivery
      this.guard(() => {
        listener(message);
      });
    }
  }

  private guard(run: () => void): void {
    try {
      run();
    } catch (err) {
      this.logger.error({ err }, 'a bus listener failed');
    }
  }
}

/** Adds a listener, wrapped so that the same function can subscribe twice and unsubscribe each subscription separately. */
function enter<L extends (...args: never[]) => void>(set: Set<L>, listener: L): () => void {
  const entry = ((...args: Parameters<L>) => {
    listener(...args);
  }) as L; // the wrapper has the parameters of the listener
  set.add(entry);
  return () => {
    set.delete(entry);
  };
}
