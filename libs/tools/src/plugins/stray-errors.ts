import { LRUCache } from 'lru-cache';

import type { Metrics } from '#platform';

/** A stack frame in the code of a plugin: the URLs of its modules contain the version of the plugin (`versionOf`). */
const FRAME = /^\s+at .*?([^/\\(]+)\?plugin=([0-9a-f]{16})/m;

type Listener = (plugin: string) => void;

/**
 * Errors in the code of plugins that no call catches: in timers, and in promises that nothing awaits. Node.js reports them to the process, so
 * each process has one list.
 */
class StrayErrors {
  /** The plugins loaded last: a process may reload a plugin any number of times. */
  private readonly names = new LRUCache<string, string>({ max: 1_000 });
  private readonly listeners = new Set<Listener>();

  /** Registers the name of the plugin whose modules have this hash. */
  know(hash: string, plugin: string): void {
    this.names.set(hash.slice(0, 16), plugin);
  }

  /**
   * Returns the plugin whose code is in the stack of an error, and counts the error. A module that is still loading is reported by the name
   * of its file. Null: no plugin's code is in the stack.
   */
  take(error: unknown): string | null {
    const frame = error instanceof Error ? FRAME.exec(error.stack ?? '') : null;
    if (frame === null) return null;
    const [, file = '', version = ''] = frame;
    const plugin = this.names.get(version) ?? file;
    for (const listener of this.listeners) listener(plugin);
    return plugin;
  }

  /** Returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The stray errors of this process. */
export const strayErrors = new StrayErrors();

export function strayErrorCount(metrics: Metrics) {
  const help = 'Errors of plugins outside of their calls: in timers, and in promises that nothing awaits';
  return metrics.counter('nightshift_plugin_stray_errors_total', help, ['plugin']);
}
