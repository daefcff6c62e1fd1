import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { PrismaService } from '#platform';

/** A call that waits for a client of its job's requester. */
export interface PendingCall {
  /** The id of the call's row. */
  readonly toolCallId: string;
  /** The id that the client knows. */
  readonly callId: string;
  readonly name: string;
  /** The arguments to run, as JSON text. */
  readonly arguments: string;
  /** The server runs it instead of the client. */
  readonly isExecuted: boolean;
}

/** Reads calls that wait for clients, as the API's role inside the workspace. */
@Injectable()
export class PendingCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Finds a call by the id that the client knows. The id is unique among the calls that wait for one principal of the OpenAI API; elsewhere
   * the newest call is returned. Returns null if there is none, or it waits for another principal.
   */
  async find(principal: Pick<Principal, 'workspaceId' | 'id'>, callId: string): Promise<PendingCall | null> {
    const { workspaceId, id } = principal;
    const row = await this.prisma.withWorkspace(principal, (tx) =>
      tx.interrupt.findFirst({
        where: {
          ...{ workspaceId, principal: id, callId, status: 'open', kind: 'client_tool' },
          toolCall: { is: { status: 'awaiting_client' } },
        },
        orderBy: { id: 'desc' },
        select: { toolCallId: true, tool: true, request: true, toolCall: { select: { executed: true } } },
      }),
    );
    if (row?.toolCallId == null) return null;
    const { toolCallId, tool, toolCall } = row;
    const request = row.request as { readonly arguments: string }; // every client tool request has this field
    return {
      toolCallId,
      callId,
      name: tool ?? '',
      arguments: request.arguments,
      isExecuted: toolCall?.executed != null,
    };
  }
}
