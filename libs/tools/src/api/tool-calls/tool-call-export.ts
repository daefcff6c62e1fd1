import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { Injectable } from '@nestjs/common';
import type { Response } from 'express';

import { Authenticator, type MemberPrincipal } from '#auth';
import { AppError, systemClock, type Timer } from '#platform';
import { accessLost, OpenStreams } from '#platform/api';

import type { ToolCallFilter } from '../../history/tool-call-filter.js';
import { ToolCallHistory } from '../../history/tool-call-history.service.js';
import type { ToolCallRecord } from '../../history/tool-call-record.js';
import { mayReadPolicy } from './may-read-policy.js';

type Pages = AsyncGenerator<readonly ToolCallRecord[], void>;

/** The export ends if the client reads nothing for this time, in ms. */
const timeoutMs = 60_000;

/**
 * Writes exports as NDJSON, a page at a time; it reads the next page when the client has received the last one. The last line has `type`
 * `end`; a failure before that line closes the connection.
 */
@Injectable()
export class ToolCallExport {
  constructor(
    private readonly history: ToolCallHistory,
    private readonly authenticator: Authenticator,
    private readonly streams: OpenStreams,
  ) {}

  /** Throws `bad_request`, `rate_limited` or `unavailable` before it writes anything. */
  async write(principal: MemberPrincipal, filter: ToolCallFilter, response: Response): Promise<void> {
    const { id, workspaceId } = principal;
    const stop = new AbortController();
    const slot = this.streams.enter({ principal: id, workspaceId, jobId: `export:${workspaceId}` }, () => {
      stop.abort();
    });
    const pages = this.pages(principal, filter);
    try {
      const first = await nextOf(pages);
      response.status(200).attachment('tool-calls.ndjson').type('application/x-ndjson');
      const toLine = (call: ToolCallRecord) => toExportLine(call, { withReasons: mayReadPolicy(principal) });
      const lines = linesOf(pages, { first: first ?? [], stop, toLine });
      await pipeline(Readable.from(lines, { objectMode: true, highWaterMark: 1 }), response, { signal: stop.signal });
    } catch (error) {
      if (!response.headersSent) throw error;
      response.destroy();
      if (!isEndOfReading(error)) throw error;
    } finally {
      await pages.return(undefined);
      slot.leave();
    }
  }

  private pages(principal: MemberPrincipal, filter: ToolCallFilter): Pages {
    const stillThere = async () => {
      const now = await this.authenticator.recheck(principal);
      return now?.kind === 'system' ? null : now;
    };
    return this.history.export(principal, filter, { stillThere, onLost: accessLost });
  }
}

/** The client left or timed out, the process stops, or the caller lost the right. None of these is a fault of the server. */
function isEndOfReading(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return error instanceof AppError || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
}

interface Writing {
  readonly first: readonly ToolCallRecord[];
  readonly stop: AbortController;
  readonly toLine: (call: ToolCallRecord) => string;
}

/** Yields one chunk of text per page. */
async function* linesOf(pages: Pages, { first, stop, toLine }: Writing) {
  let count = 0;
  let timeout: Timer | undefined;
  try {
    for (let page: readonly ToolCallRecord[] | undefined = first; page !== undefined; page = await nextOf(pages)) {
      count += page.length;
      timeout?.cancel();
      timeout = systemClock.after(timeoutMs, () => {
        stop.abort();
      });
      if (page.length > 0) yield page.map(toLine).join('');
    }
    yield toLastLine(count);
  } finally {
    timeout?.cancel();
  }
}

async function nextOf(pages: Pages): Promise<readonly ToolCallRecord[] | undefined> {
  const next = await pages.next();
  return next.done === true ? undefined : next.value;
}

/** A call as a line of an export. The actual reasons of refusals are included only for callers who may read the policy. */
function toExportLine(call: ToolCallRecord, { withReasons }: { readonly withReasons: boolean }): string {
  const { createdAt, startedAt, finishedAt, error, ...rest } = call;
  const instant = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const times = { createdAt: instant(createdAt), startedAt: instant(startedAt), finishedAt: instant(finishedAt) };
  const failure = error === null || withReasons ? error : { ...error, reason: null };
  return `${JSON.stringify({ type: 'tool_call', ...rest, error: failure, ...times })}\n`;
}

/** The last line of an export. A file without it is incomplete. */
function toLastLine(count: number): string {
  return `${JSON.stringify({ type: 'end', count })}\n`;
}
