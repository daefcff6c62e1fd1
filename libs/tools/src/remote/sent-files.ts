import { Injectable } from '@nestjs/common';
import { z } from 'zod';

import { AppError, type Clock, systemClock } from '#platform';

import { PluginContexts } from '../plugins/plugin-contexts.js';
import { type StoredArtifact, storeFiles } from '../plugins/store-artifacts.js';
import type { ToolResponse } from './queue-message.js';

/** Maximum time for all files of one response together, in ms. Another response waits for this one if pg-boss delivered both at once. */
const longestMs = 10_000;

const sentResult = z.looseObject({ content: z.unknown(), artifacts: z.array(z.looseObject({ name: z.unknown() })) });

/** Stores the files that come with the responses of tool processes, which cannot store files themselves. */
@Injectable()
export class SentFiles {
  /** Tests replace the clock. */
  clock: Clock = systemClock;

  constructor(private readonly contexts: PluginContexts) {}

  /**
   * Returns the response as if its process had stored the files for this principal. Throws `unavailable` if the storage does not respond in
   * ten seconds: pg-boss delivers the response again, and `Files.save` finds the contents that are stored by then.
   */
  async store(response: ToolResponse, principal: string): Promise<ToolResponse> {
    const { workspace_id: workspaceId, result } = response;
    if (result?.files === undefined) return response;
    const { files: sent, ...rest } = result;
    const userId = await this.contexts.userIdOf(workspaceId, principal);
    const files = sent.map(({ data, ...file }) => ({ ...file, data: Buffer.from(data, 'base64') }));
    const stored = await this.inTime((signal) =>
      storeFiles(files, this.contexts.filesOf({ workspaceId, userId }), { signal, isFinal }),
    );
    return { ...response, result: { ...rest, content: withStored(rest.content, stored) } };
  }

  private async inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = this.clock.after(longestMs, () => {
      const error = tooSlow();
      controller.abort(error);
      reject(error);
    });
    try {
      return await Promise.race([work(controller.signal), late]);
    } finally {
      timer.cancel();
    }
  }
}

/** The message still contains the files, so they can be stored when the storage responds again. */
function isFinal({ code }: AppError): boolean {
  return code !== 'unavailable';
}

function tooSlow(): AppError {
  const message = `The file storage did not store the files of a tool call within ${longestMs} ms. The server tries again`;
  return new AppError({ code: 'unavailable', message, retryable: true });
}

/** Replaces the entries of sent files by those of stored files. A truncated text stays as it is: its hashes are those of the files. */
function withStored(content: string, stored: readonly StoredArtifact[]): string {
  const result = readResult(content);
  if (result === null) return content;
  const rest = [...stored];
  const artifacts = result.artifacts.map((artifact) =>
    // Keep the name in the text, because the process has redacted it.
    'hash' in artifact ? { ...(rest.shift() ?? artifact), name: artifact.name } : artifact,
  );
  return JSON.stringify({ ...result, artifacts });
}

function readResult(content: string): z.infer<typeof sentResult> | null {
  try {
    return sentResult.safeParse(JSON.parse(content)).data ?? null;
  } catch {
    return null;
  }
}
