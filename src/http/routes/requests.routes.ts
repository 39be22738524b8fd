import { toSec } from '../../ports/clock.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { route, type Operation, type Route } from '../operation.ts';
import type { LoggedRequest, RequestLog } from '../../features/shared/request-log.ts';
import { DEFAULT_PAGE_SIZE } from '../schemas/list.schema.ts';
import {
  listRequestsQuery,
  LOGGED_REQUEST_EXAMPLE,
  loggedRequest,
  requestList,
  type LoggedRequestBody,
} from '../schemas/request.schema.ts';
import { refusedField } from '../validation.ts';
import { must } from '../../domain/values/must.ts';

const TAG = 'Merchant';

const listRequestsOperation = {
  id: 'listRequests',
  method: 'get',
  path: '/v1/requests',
  tag: TAG,
  scope: 'settings:manage',
  summary: 'List your latest requests, newest first',
  description:
    'Requests and their answers, without bodies, to help while you build. Each process keeps the newest thousand per merchant and mode until it ends.',
  query: listRequestsQuery,
  response: requestList,
  errors: ['invalid_request', 'unknown_field'],
  example: {
    response: { data: [LOGGED_REQUEST_EXAMPLE], pagination: { page_size: 20, has_more: false, next_cursor: null } },
  },
} as const satisfies Operation;

const getRequestOperation = {
  id: 'getRequest',
  method: 'get',
  path: '/v1/requests/{id}',
  tag: TAG,
  scope: 'settings:manage',
  summary: 'Get one of your latest requests',
  description: 'By the `request_id` of its answer.',
  response: loggedRequest,
  errors: ['invalid_request', 'not_found'],
  example: { response: LOGGED_REQUEST_EXAMPLE },
} as const satisfies Operation;

export function requestRoutes(log: RequestLog): Route[] {
  return [
    route(listRequestsOperation, async ({ caller, query }) => {
      const pageSize = Number(query.page_size ?? DEFAULT_PAGE_SIZE);
      const isWanted = ({ status }: LoggedRequest): boolean =>
        query.status === undefined || status === Number(query.status);
      const found = log.before(caller, query.cursor || undefined, isWanted);
      if (found === null)
        return refusedField('cursor', 'must be a cursor of this list; the request it named may no longer be kept');
      const page = found.slice(0, pageSize);
      const hasMore = found.length > page.length;
      const pagination = {
        page_size: pageSize,
        has_more: hasMore,
        next_cursor: hasMore ? must(page.at(-1)).requestId : null,
      };
      return answer({ data: page.map(presentRequest), pagination });
    }),
    route(getRequestOperation, async ({ caller, params }) => {
      const found = log.find(caller, must(params.id));
      return found ? answer(presentRequest(found)) : NOT_FOUND;
    }),
  ];
}

function presentRequest(request: LoggedRequest): LoggedRequestBody {
  return {
    id: request.requestId,
    at: toSec(request.atMs),
    duration_ms: request.durationMs,
    method: request.method,
    target: request.target,
    operation: request.operation,
    key_id: request.keyId,
    status: request.status,
    error_code: request.errorCode,
    param: request.param,
    authentication_fault: request.authenticationFault,
  };
}
