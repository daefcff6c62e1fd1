import { Module } from '@nestjs/common';

import { CallsOfJobsRepository } from './calls-of-jobs.repository.js';
import { HistoryAccessRepository } from './history-access.repository.js';
import { ToolCallContentRepository } from './tool-call-content.repository.js';
import { ToolCallHistoryRepository } from './tool-call-history.repository.js';
import { ToolCallHistory } from './tool-call-history.service.js';
import { ToolCallStatsRepository } from './tool-call-stats.repository.js';

const repositories = [
  CallsOfJobsRepository,
  HistoryAccessRepository,
  ToolCallContentRepository,
  ToolCallHistoryRepository,
  ToolCallStatsRepository,
];

/** The history of tool calls. Requires a global `PlatformModule`. */
@Module({ providers: [...repositories, ToolCallHistory], exports: [CallsOfJobsRepository, ToolCallHistory] })
export class HistoryModule {}
