import type { Logger } from '../logger.js';
import type { Bus, BusMessages, BusTopic } from './bus.js';
import { BusListeners } from './bus-listeners.js';
import { toHint } from './pending-hints.js';

/** The bus of a single process. It misses no message, so `onGap` listeners never run. */
export class MemoryBus implements Bus {
  private readonly listeners: BusListeners;

  constructor(options: { readonly logger: Logger }) {
    this.listeners = new BusListeners(options.logger);
  }

  publish<T extends BusTopic>(topic: T, message: BusMessages[T]): void {
    this.listeners.deliver(toHint(topic, message));
  }

  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    return this.listeners.subscribe(topic, listener);
  }

  onGap(listener: () => void): () => void {
    return this.listeners.onGap(listener);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.listeners.flush();
    return Promise.resolve();
  }
}
