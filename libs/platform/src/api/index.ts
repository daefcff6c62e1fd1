export { drainRestMiddleware } from './body/drain-rest.js';
export { JsonScan, MAX_JSON_DEPTH } from '../json-scan.js';
export { bodyMiddleware, hasEmptyBody, readBody, readPublicBody, readRawBody } from './body/read-body.js';
export { CallerTurns } from './body/caller-turns.js';
export { invalidCursor, invalidPage } from './connections/connection.errors.js';
export { defineEnum } from './define-enum.js';
export { connectionOf } from './connections/connection.model.js';
export { idOfCursor, positionOfCursor, textOfCursor, toCursor } from './connections/cursor.js';
export { toForwardConnection, toForwardPage } from './connections/forward-page.js';
export { ForwardPageArgs, PageArgs } from './connections/page.args.js';
export { type ConnectionOf, emptyConnection, toConnection } from './connections/to-connection.js';
export { listCost, pageCost, toWantedPage, type WantedPage } from './connections/to-page.js';
export { errorRowOf, errorTable, isExpected } from './errors/error-table.js';
export {
  accessLost,
  crossOriginRefused,
  invalidBody,
  invalidField,
  invalidParameter,
  missing,
  tooLarge,
} from './errors/http.errors.js';
export { orNull } from './errors/or-null.js';
export { payloadOf } from './errors/payload.model.js';
export { noteRefusal, refusalReasonOf } from './errors/refusal-reason.js';
export { toPayload, UserError } from './errors/user-error.model.js';
export { DateTimeFilter, IdFilter } from './filters/filter.input.js';
export { both, toIdOrNone } from './filters/narrow.js';
export { cpuBoundCost, graphqlLimits } from './graphql-limits.js';
export { type NodeRef, type NodeType, parseNodeId, toNodeId } from './node/node-id.js';
export { Node } from './node/node.model.js';
export { errorBody } from './openapi/error-body.js';
export {
  ApiIdempotencyKey,
  ApiJsonBody,
  ApiMediaReply,
  ApiOnDisconnect,
  ApiOpenAiRefusals,
  ApiPublic,
  ApiRefusals,
  ApiReply,
  referenceTo,
} from './openapi/route-docs.js';
export { named, schemaNames } from './openapi/schema-names.js';
export { isPlainData, PlainData } from './plain-data.js';
export { optional, pageQuery } from './requests/page-query.js';
export { accept, refusedWith, RequestSchemaPipe } from './requests/request-schema.pipe.js';
export { DateTime } from './scalars/date-time.scalar.js';
export { Json } from './scalars/json.scalar.js';
export { DeliveredIds } from './streams/delivered-ids.js';
export { type CloseReason, OpenStreams, type StreamSlot } from './streams/open-streams.js';
export { RecentChanges } from './streams/recent-changes.js';
export { type Look, RowActivity } from './streams/row-activity.js';
