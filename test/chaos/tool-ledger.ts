import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { eventually } from '../harness/eventually.js';
import { createGate, type Gate } from '../harness/scripted-reply.js';
import { isRemoteTool, remoteTools } from './remote-tools.js';

/** A call the tool server has seen. */
export interface LedgerEntry {
  readonly tool: string;
  readonly key: string;
  readonly epoch: number;
  /** JSON text of what it was called with. */
  readonly args?: string;
}

/** Whom to call for, so that the far side takes the call in and does nothing; or does it and will not say so. */
export const unreachable = 'unreachable';
export const secretive = 'secretive';

/** The far side of the tools of `chaos-process.main.ts`: remembers every call, and does what it is asked. */
export class ToolLedger {
  readonly calls: LedgerEntry[] = [];
  /** What was really done, by key: a `charge` is done once per key, a letter is sent each time. */
  readonly effects: LedgerEntry[] = [];
  private readonly gates: Gate[] = [];
  private gate: Gate | undefined;
  private gateOf: ((jobId: string) => Gate) | undefined;

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      // A process that died during its request has requested nothing.
      this.serve(request, response).catch(() => response.destroy());
    });
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

  /** No call is answered, also those of later, before the gate opens. */
  holdAll(): Gate {
    this.gate = createGate();
    return this.gate;
  }

  /** No call of a job is answered before the gate of that job opens, which may be asked for before the call comes. */
  holdEach(): { of(jobId: string): Gate; end(): void } {
    const gates = new Map<string, Gate>();
    const of = (jobId: string): Gate => {
      const gate = gates.get(jobId) ?? createGate();
      gates.set(jobId, gate);
      return gate;
    };
    this.gateOf = of;
    return {
      of,
      end: () => {
        this.gateOf = undefined;
        for (const gate of gates.values()) gate.open();
      },
    };
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
    const args = await text(request);
    const entry = {
      tool: url.slice(1),
      key: String(headers['idempotency-key']),
      epoch: Number(headers['x-job-epoch']),
      args,
    };
    if (entry.tool === 'verify') {
      response.end(this.outcomeOf(entry.key));
      return;
    }
    this.calls.push(entry);
    const effect = isRemoteTool(entry.tool) ? remoteTools[entry.tool].effect : 'once';
    const isRepeat = effect === 'idempotent' && this.effects.some(({ key }) => key === entry.key);
    const isDone = effect !== 'pure' && !isRepeat && !args.includes(unreachable);
    if (isDone) this.effects.push(entry);
    const [jobId = ''] = entry.key.split(':');
    await (this.gates.shift() ?? this.gateOf?.(jobId) ?? this.gate)?.opened;
    response.end(`${entry.tool} done`);
  }

  /** What became of a call; empty: nothing did. */
  private outcomeOf(key: string): string {
    const done = this.effects.find((effect) => effect.key === key);
    if (done?.args?.includes(secretive) === true) return 'unknown';
    return done === undefined ? '' : `${done.tool} was done`;
  }
}
