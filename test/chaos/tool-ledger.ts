import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { eventually } from '../harness/eventually.js';
import { createGate, type Gate } from '../harness/scripted-reply.js';

/** A call the tool server has seen. */
export interface LedgerEntry {
  readonly tool: string;
  readonly key: string;
  readonly epoch: number;
}

/** The far side of the tools of `chaos-process.main.ts`: remembers every call, and does what it is asked. */
export class ToolLedger {
  readonly calls: LedgerEntry[] = [];
  /** What was really done, by key: a `charge` is done once per key, a letter is sent each time. */
  readonly effects: LedgerEntry[] = [];
  private readonly gates: Gate[] = [];

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.serve(request, response));
  }

  static async start(): Promise<ToolLedger> {
    const server = createServer();
    const ledger = new ToolLedger(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return ledger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`; // it listens on TCP
  }

  /** The next call does its work and is not answered before the gate opens. */
  holdNext(): Gate {
    const gate = createGate();
    this.gates.push(gate);
    return gate;
  }

  /** Resolves once `count` calls have come in all. */
  async called(count: number): Promise<void> {
    await eventually(`${count} tool calls have come`, () => (this.calls.length >= count ? true : undefined));
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, url = '' } = request;
    const entry = {
      tool: url.slice(1),
      key: String(headers['idempotency-key']),
      epoch: Number(headers['x-job-epoch']),
    };
    this.calls.push(entry);
    const isRepeat = entry.tool === 'charge' && this.effects.some(({ key }) => key === entry.key);
    if (entry.tool !== 'look_up' && !isRepeat) this.effects.push(entry);
    await this.gates.shift()?.opened;
    response.end(`${entry.tool} done`);
  }
}
