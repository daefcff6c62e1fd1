import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { JobsRepository } from '#jobs';
import type { Scope } from '#platform';

import { DefinitionsRepository } from '../definitions/definitions.repository.js';
import { readDocument } from '../definitions/read-definition.js';
import { WorkflowsService } from '../definitions/workflows.service.js';
import { toMermaid } from '../diagram/to-mermaid.js';
import { toSvg } from '../diagram/to-svg.js';
import { ShownNodeRunsRepository } from './shown-node-runs.repository.js';

const draw = { mermaid: toMermaid, svg: toSvg } as const;
export type DiagramFormat = keyof typeof draw;

/** Pictures of definitions and of runs. */
@Injectable()
export class WorkflowDiagrams {
  constructor(
    private readonly workflows: WorkflowsService,
    private readonly definitions: DefinitionsRepository,
    private readonly jobs: JobsRepository,
    private readonly nodeRuns: ShownNodeRunsRepository,
  ) {}

  /** The diagram of the draft, including its problems. Throws `not_found`. */
  async ofDraft(principal: MemberPrincipal, id: string, format: DiagramFormat): Promise<string> {
    return draw[format](readDocument(await this.workflows.draft(principal, id)));
  }

  /** The diagram of the version that the job runs, with nodes colored by their newest runs. Null: no such workflow job may be read. */
  async ofJob(scope: Scope, jobId: string, format: DiagramFormat): Promise<string | null> {
    const job = await this.jobs.findInScope(scope, jobId);
    if (job === null || job.workflowId === null || job.workflowVersion === null) return null;
    const pin = { id: job.workflowId, version: job.workflowVersion };
    const [definition] = await this.definitions.pinned(scope.workspaceId, [pin]);
    if (definition === undefined) return null;
    const states = await this.nodeRuns.statusesInScope(scope, jobId);
    return draw[format](readDocument(definition.definition), states);
  }
}
