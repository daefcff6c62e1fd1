import { exitCodes } from '../exit-code.js';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ctrl-C and its relatives: the first one is heard, the second ends the process at once. */
export class StopKeys implements Disposable {
  private count = 0;
  private readonly hear = () => {
    this.count += 1;
    if (this.count > 1) process.exit(exitCodes.interrupted);
    this.onFirst();
  };

  constructor(private readonly onFirst: () => void) {
    for (const signal of signals) process.on(signal, this.hear);
  }

  get pressed(): boolean {
    return this.count > 0;
  }

  [Symbol.dispose](): void {
    for (const signal of signals) process.off(signal, this.hear);
  }
}
