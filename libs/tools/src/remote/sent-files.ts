import { Injectable } from '@nestjs/common';
import { z } from 'zod';

import { EndedCallsRepository } from '../hooks/ended-calls.repository.js';
import { PluginContexts } from '../plugins/plugin-contexts.js';
import { type StoredArtifact, storeFiles } from '../plugins/store-artifacts.js';
import type { ToolResponse } from './queue-message.js';

const sentResult = z.looseObject({ artifacts: z.array(z.looseObject({ name: z.unknown() })) });

/** Stores the files that come with the responses of tool processes, which cannot store files themselves. */
@Injectable()
export class SentFiles {
  constructor(
    private readonly contexts: PluginContexts,
    private readonly calls: EndedCallsRepository,
  ) {}

  /**
   * Returns the response as if its process had stored the files. Call it before the transaction that applies the response. If the response
   * is applied again, `Files.save` finds the same contents.
   */
  async store(response: ToolResponse): Promise<ToolResponse> {
    const { workspace_id: workspaceId, job_id: jobId, correlation_id: id, result } = response;
    if (result?.files === undefined) return response;
    const call = await this.calls.find({ workspaceId, jobId, id });
    if (call === null || call.isSettled) return response;
    const userId = await this.contexts.userIdOf(workspaceId, call.principal);
    const files = result.files.map(({ data, ...file }) => ({ ...file, data: Buffer.from(data, 'base64') }));
    const stored = await storeFiles(files, this.contexts.filesOf({ workspaceId, userId }));
    return { ...response, result: { ...result, content: withStored(result.content, stored) } };
  }
}

/** Replaces the entries of sent files by those of stored files. A truncated text stays as it is: its hashes are those of the files. */
function withStored(content: string, stored: readonly StoredArtifact[]): string {
  const result = readResult(content);
  if (result === null) return content;
  const rest = [...stored];
  const artifacts = result.artifacts.map((artifact) =>
    // Keep the name in the text: the process has removed secrets from it.
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
