import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';
import { WorkflowsModule } from '#workflows';

import { HitlAnswers } from './hitl-answers.js';
import { WorkflowStart } from './workflow-start.js';
import { WorkflowsController } from './workflows.controller.js';

/** Workflows over REST. */
@Module({
  imports: [JobsModule, LimitsModule, ApprovalsModule, WorkflowsModule],
  controllers: [WorkflowsController],
  providers: [HitlAnswers, WorkflowStart],
})
export class WorkflowsApiModule {}
