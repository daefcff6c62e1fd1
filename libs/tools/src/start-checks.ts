import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';

import type { Tool } from './tool.js';

/** Which call of a job: by the ledger row, or by the id that the model uses (the newest if a provider repeated one). */
export type StartingRef = { readonly workspaceId: string; readonly jobId: string } & (
  { readonly id: string } | { readonly callId: string }
);

/** Decides right before a call starts outside the process of its job. */
export interface StartCheck {
  /** `tool` null: the client runs the tool, or it no longer exists. Returns null when the call does not exist. */
  ask(ref: StartingRef, tool: Tool | null): Promise<{ readonly type: 'run' | 'ask' | 'refuse' } | null>;
}

/** Holds the check of isolated calls. Policies and grants belong to a higher lib, which registers the check while the process boots. */
@Injectable()
export class StartChecks implements StartCheck, OnApplicationBootstrap {
  private check: StartCheck | null = null;

  register(check: StartCheck): void {
    this.check = check;
  }

  /** Prevents the start of a process that would run calls without a check. */
  onApplicationBootstrap(): void {
    this.registered();
  }

  ask(ref: StartingRef, tool: Tool | null): ReturnType<StartCheck['ask']> {
    return this.registered().ask(ref, tool);
  }

  private registered(): StartCheck {
    if (this.check === null) throw new Error('no check of starting calls is registered: import ApprovalsModule');
    return this.check;
  }
}
