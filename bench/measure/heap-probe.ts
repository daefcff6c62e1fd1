import { once } from 'node:events';

import { WebSocket } from 'ws';

/** Reads the heap of a process that runs with --inspect, over the inspector: nothing in the process has to help. */
export class HeapProbe {
  private id = 0;

  private constructor(private readonly socket: WebSocket) {}

  /** `output`: what the process has printed; Node prints the inspector's address first. */
  static async open(output: string): Promise<HeapProbe> {
    const url = /Debugger listening on (ws:\S+)/.exec(output)?.[1];
    if (url === undefined) throw new Error('the process runs without an inspector');
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, 'open');
    return new HeapProbe(socket);
  }

  /** What is used after garbage was collected twice (finalizers run in between), in MB. */
  async heapMb(): Promise<number> {
    await this.ask('HeapProfiler.collectGarbage');
    await this.ask('HeapProfiler.collectGarbage');
    const { usedSize } = (await this.ask('Runtime.getHeapUsage')) as { usedSize: number }; // as the protocol defines it
    return usedSize / 1_048_576;
  }

  close(): void {
    this.socket.terminate();
  }

  private async ask(method: string): Promise<unknown> {
    const id = ++this.id;
    this.socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [data] = (await once(this.socket, 'message')) as [Buffer]; // ws emits buffers by default
      const answer = JSON.parse(data.toString('utf8')) as { id?: number; result?: unknown }; // the protocol's envelope
      if (answer.id === id) return answer.result;
    }
  }
}
