export { BUS, type Bus, type BusMessages, type BusTopic } from './bus/bus.js';
export { type Clock, ManualClock, systemClock, type Timer, waitUnlessAborted } from './clock.js';
export { defined } from './defined.js';
export {
  Config,
  ConfigError,
  describeSettings,
  queuesServed,
  type SettingDescription,
  type Settings,
  type WorkerQueue,
} from './config/config.js';
export { processEnvironment } from './config/environment.js';
export { hasTerminal } from './config/has-terminal.js';
export { type ModelPrice, toModelPrices } from './config/model-prices.js';
export { armCrashPoint, crashpoint, CrashPointReached } from './crash-point.js';
export { AppError, type AppErrorInit } from './errors/app-error.js';
export { type FieldProblem, problemInWords, readInput } from './errors/field-problem.js';
export {
  limitDetails,
  type RateLimit,
  raiserSentence,
  rateLimited,
  type ReachedLimit,
} from './errors/reached-limit.js';
export { fileHashesIn } from './file-hashes.js';
export { firstIdAt, idFrom, isId, newId } from './ids.js';
export { createLogger, LOGGER, type Logger } from './logger.js';
export { awakeTimeout } from './awake-timeout.js';
export type { Page, PageRequest } from './page.js';
export { hasEnded, processName } from './process-name.js';
export type { Scope, ScopedSubject } from './scope.js';
export { Redactor } from './secrets/redactor.js';
export { type RedactingStream, type TextRedactor } from './secrets/text-redactor.js';
export { Secret } from './secrets/secret.js';
export { type HeldSecrets, rootBox, toolBox, ToolSecretBox, toolsKeyOf } from './secrets/installation-secret.js';
export { appendAudit } from './prisma/audit.repository.js';
export { resealColumn, type Resealed, type SealedColumn } from './prisma/reseal.repository.js';
export { SecretBox, type SecretPlace } from './secrets/secret-box.js';
export { JsonScan, parseJson } from './json-scan.js';
export { type Storable, toStorable, toStorableText } from './to-storable.js';
export { Leases, type LeaseLoss, type LeasesOptions } from './leases.js';
export {
  assertReadable,
  countTextsFor,
  endTextsOfRequest,
  readBytes,
  TextsInMemory,
  textsTooLarge,
} from './texts-in-memory.js';
export { TimedCache } from './timed-cache.js';
export { mapInSlices, TimeSlice, timeSlice } from './time-slice.js';
export { toSlug } from './to-slug.js';
export { unlessAborted } from './unless-aborted.js';
export { GroupWriter, type GroupWriterOptions, type WriteBatch } from './postgres/group-writer.js';
export { type WorkspaceBatch, WorkspaceBatches } from './postgres/workspace-batches.js';
export { Metrics } from './metrics/metrics.js';
export { toCallerError, isTransient, sqlState, violatedConstraint } from './postgres/availability.js';
export { CallNotClaimed, DatabaseUnavailable } from './postgres/postgres.errors.js';
export type { SqlStatement } from './postgres/sql-statement.js';
export { Postgres, type PostgresOptions, TOOL_PROCESS_CONNECTIONS } from './postgres/postgres.js';
export { assertBackupReadable, assertBackupWritable } from './postgres/backup/check-backup.js';
export { dumpDatabase, type DumpInit, type WrittenBackup } from './postgres/backup/dump-database.js';
export { restoreDatabase, type RestoreInit } from './postgres/backup/restore-database.js';
export {
  dataDirSecret,
  hasDataDirSecret,
  hasEmbeddedData,
  previousDataDirSecrets,
  rotateDataDirSecret,
} from './postgres/data-secret.js';
export { type DatabaseUrls, databaseUrls, toolsDatabaseUrl } from './postgres/database-urls.js';
export { canLogIn } from './postgres/database-roles.js';
export { embeddedDatabaseUrl, EmbeddedPostgres } from './postgres/embedded-postgres.js';
export { createEphemeralDataDir } from './postgres/ephemeral-data-dir.js';
export { toolDatabaseProblem } from './postgres/tool-database.js';
export { migrate, type MigrateOptions } from './postgres/migrator.js';
export { DEAD_ACTIONS, QUEUE_SCHEMA, type QueueName, RESULT_RETRIES, TOOL_QUEUES } from './postgres/queue-list.js';
export {
  type AddressedMessage,
  type Delivery,
  type Handled,
  type QueueHandler,
  type QueueMessage,
  type StoredMessage,
} from './queue/queue-message.js';
export { Queues } from './queue/queues.js';
export { RateCountersRepository } from './rates/rate-counters.repository.js';
export { type Allowance, SharedRate } from './rates/shared-rate.js';
export { ParallelHandlers } from './queue/parallel-handlers.js';
export { actOnEach, handleEvery, QueueWorker, runParts, sweepEach } from './queue/queue-worker.js';
export { Slots } from './queue/slots.js';
export { inOwnerTransaction, openLoginPrisma, openOwnerPrisma } from './prisma/owner-prisma.js';
export { PrismaService, type PrismaTransaction } from './prisma/prisma.service.js';
export {
  type AdmissionRow,
  type AgentRow,
  type AgentVersionRow,
  type ApiKeyRow,
  type ApprovalGrantRow,
  type ApprovalPolicyRow,
  type AuditEntryRow,
  type FeatureFlagRow,
  type InterruptRow,
  type InvitationRow,
  type JobEventRow,
  type JobRow,
  type McpServerRow,
  type McpToolRow,
  type MembershipRow,
  type MessageRow,
  type ModelProviderRow,
  type NodeRunTableRow,
  type NotificationChannelRow,
  Prisma,
  type RoundRow,
  type ScheduledSlotRow,
  type StoredFileRow,
  type SyntrixConnectionRow,
  type ThreadRow,
  type ToolCallRow,
  type ToolOutputRow,
  type TriggerRow,
  type TriggerRunRow,
  type UserRow,
  type WebhookDeliveryRow,
  type WebhookEndpointRow,
  type WorkflowRow,
  type ScheduleRow,
  type WorkflowVersionRow,
  type WorkspaceRow,
  type WorkspaceSecretRow,
  type WorkspaceToolRow,
  type WorkspaceToolVersionRow,
} from './prisma/rows.js';
export {
  openPlatform,
  openToolPlatform,
  type Platform,
  type PlatformInit,
  PlatformModule,
  type ToolPlatformInit,
} from './platform.module.js';
export { MemoryBus } from './bus/memory.bus.js';
export { PostgresBus, type PostgresBusOptions } from './bus/postgres.bus.js';
export { createGuardedAgent, type GuardedAgentOptions, inRanges, isPublicAddress } from './outbound/guarded-agent.js';
export {
  type FetchPolicy,
  GuardedFetch,
  type GuardedFetchOptions,
  OUTBOUND_LIMITS,
  type OutboundResponse,
} from './outbound/guarded-fetch.js';
export { OutboundError, type OutboundErrorCode } from './outbound/outbound.errors.js';
export { isOwnHeader, type OutboundLimits, type OutboundRequest } from './outbound/outbound-request.js';
export { isHostAllowed, toHostPattern } from './outbound/outbound-url.js';
