import { Args, Context, Parent, ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobModel } from '#jobs/api';
import { defineEnum } from '#platform/api';

import type { Workflow } from '../definitions/workflow.js';
import { type DiagramFormat, WorkflowDiagrams } from '../state/workflow-diagrams.js';
import { WorkflowModel } from './workflow.model.js';

/** How a workflow is drawn. */
const DiagramFormatEnum = defineEnum('DiagramFormat', 'The format of a workflow diagram.', {
  MERMAID: ['mermaid', 'The text of a Mermaid flowchart.'],
  SVG: ['svg', 'An SVG document without scripts and links.'],
}) satisfies Record<Uppercase<DiagramFormat>, DiagramFormat>;

/** Drawing reads a whole definition. */
const complexity = 1_000;
const formatText = { type: () => DiagramFormatEnum, description: 'The format.' };

/** Adds a diagram to drafts. */
@Resolver(() => WorkflowModel)
export class WorkflowDiagramResolver {
  constructor(private readonly diagrams: WorkflowDiagrams) {}

  @ResolveField(() => String, { description: 'A diagram of the draft, even if the draft is invalid.', complexity })
  diagram(
    @Parent() { id }: Workflow,
    @Args('format', formatText) format: DiagramFormat,
    @Context() { member }: GraphqlContext,
  ): Promise<string> {
    return this.diagrams.ofDraft(member, id, format);
  }
}

/** Adds a diagram to workflow jobs. */
@Resolver(() => JobModel)
export class JobDiagramResolver {
  constructor(private readonly diagrams: WorkflowDiagrams) {}

  @ResolveField(() => String, {
    nullable: true,
    description: 'For a workflow job: its diagram, with nodes colored by status.',
    complexity,
  })
  diagram(
    @Parent() { id }: Job,
    @Args('format', formatText) format: DiagramFormat,
    @Context() { scope }: GraphqlContext,
  ): Promise<string | null> {
    return this.diagrams.ofJob(scope, id, format);
  }
}
