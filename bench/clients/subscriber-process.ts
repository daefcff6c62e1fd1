import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** What the subscribers of one process have received of one job. Delays: from the event's own time to its arrival, ms. */
export interface Received {
  readonly events: number;
  readonly text: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A process full of subscribers; see `subscribers.main.ts`. */
export class SubscriberProcess {
  private readonly lines: AsyncIterator<string>;

  private constructor(private readonly child: ChildProcess) {
    if (child.stdout === null) throw new Error('a child without output');
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** Resolves when all are connected. */
  static async start(url: string, apiKey: string, count: number): Promise<SubscriberProcess> {
    const main = new URL('subscribers.main.js', import.meta.url);
    const child = spawn(process.execPath, [main.pathname, url, apiKey, String(count)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const started = new SubscriberProcess(child);
    await started.read();
    return started;
  }

  /** Resolves when each subscriber has its first event of the job. */
  async subscribe(jobId: string): Promise<void> {
    this.child.stdin?.write(`${jobId}\n`);
    await this.read();
  }

  /** Resolves when all subscriptions have ended. */
  async end(): Promise<Received> {
    return JSON.parse(await this.read()) as Received; // printed by our own script
  }

  close(): void {
    this.child.kill('SIGTERM');
  }

  private async read(): Promise<string> {
    const line = await this.lines.next();
    if (line.done === true) throw new Error('the subscribers have ended');
    return line.value;
  }
}
