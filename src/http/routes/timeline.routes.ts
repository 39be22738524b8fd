import { parseSessionId, type SessionId } from '../../domain/values/ids.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import type { Timeline } from '../../features/sessions/timeline/types.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { presentTimeline } from '../presenters/timeline.presenter.ts';
import { timelineOf, type TimelineBody } from '../schemas/timeline.schema.ts';
import { must } from '../../domain/values/must.ts';

/** Null for a session that is not the caller's. */
export type TimelineReader = (reader: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId) => Promise<Timeline | null>;

const EXAMPLE = {
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  conclusion: 'Not paid: it expired. Nothing else arrived on ethereum in blocks 21000010 to 21000160, per rpc.example.',
  entries: [
    {
      at: 1790000000,
      type: 'SessionCreated',
      message: 'Session created: 10.01 USDT due, payable on ethereum.',
      facts: { due: '10.01', coin: 'USDT', expires_at: 1790001800, rate: '1.0002' },
    },
  ],
  read_to: [{ network: 'ethereum', time: 1790086412 }],
  coverage: [
    {
      network: 'ethereum',
      from_block: 21000010,
      to_block: 21000160,
      to_time: 1790001812,
      providers: ['rpc.example'],
      gaps: [],
    },
  ],
} satisfies TimelineBody;

const getTimelineOperation = {
  id: 'getSessionTimeline',
  method: 'get',
  path: '/v1/payment/sessions/{id}/timeline',
  tag: 'Payment sessions',
  scope: 'payments:read',
  summary: 'Explain a payment session',
  description:
    'Everything that was observed and decided, in order: blocks read, transfers seen and how each was judged, confirmations, refunds and webhook attempts.',
  response: timelineOf,
  errors: ['not_found'],
  example: { response: EXAMPLE },
} as const satisfies Operation;

export function timelineRoutes(read: TimelineReader): Route[] {
  return [
    route(getTimelineOperation, async ({ caller, params }) => {
      const id = parseSessionId(must(params.id));
      const timeline = id === null ? null : await read(caller, id);
      return timeline === null ? NOT_FOUND : answer(presentTimeline(timeline));
    }),
  ];
}
