import { refuse } from '../../domain/values/result.ts';
import { parseSessionId, type SessionId } from '../../domain/values/ids.ts';
import { AuditTreeBehind } from '../../ports/event-log/audit.ts';
import type { AuditRecords, SessionProof } from '../../features/audit/records.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import { NOT_FOUND, answer, type Answer } from '../answer.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { presentCheckpoint, presentProof } from '../presenters/audit.presenter.ts';
import {
  checkpointList,
  consistency,
  consistencyQuery,
  listCheckpointsQuery,
  sessionProof,
  type SessionProofBody,
} from '../schemas/audit.schema.ts';
import { DEFAULT_PAGE_SIZE } from '../schemas/list.schema.ts';
import { refusedField } from '../validation.ts';
import { must } from '../../domain/values/must.ts';

/** Proofs about the event log, for merchants. */
export interface AuditApi extends Pick<AuditRecords, 'checkpoints' | 'consistency' | 'reached' | 'verifierKey'> {
  /** Null for a session that is not the caller's. */
  proofOf(reader: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<SessionProof | null>;
}

const NOTE =
  'quittance/3f0c5f6c9b1e2d47\n4821\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u2014 quittance/3f0c5f6c9b1e2d47 Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
const KEY = 'quittance/3f0c5f6c9b1e2d47+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8';
const CHECKPOINT = {
  origin: 'quittance/3f0c5f6c9b1e2d47',
  size: 4821,
  root_hash: 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
  checkpoint: NOTE,
  created: 1790000000,
};
const TEXT = '["session-cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4",0,"0c7d...","SessionCreated",1,1790000000123,{...},{...}]';
const PROOF = {
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  verifier_key: KEY,
  checkpoint: CHECKPOINT,
  proves: { kind: 'stream', events: 1, through_revision: 0 },
  events: [
    {
      type: 'SessionCreated',
      revision: 0,
      leaf_index: 4711,
      text: TEXT,
      hash: '0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62',
      inclusion_proof: ['CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='],
    },
  ],
  pending_events: 0,
} satisfies SessionProofBody;
const PAGE = { page_size: DEFAULT_PAGE_SIZE, has_more: false, next_cursor: null };

const listCheckpointsOperation = {
  id: 'listAuditCheckpoints',
  method: 'get',
  path: '/v1/audit/checkpoints',
  tag: 'Audit',
  scope: 'books:read',
  summary: 'List signed checkpoints of the event log, newest first',
  description:
    'Each is an Ed25519-signed root of the Merkle tree over all events up to it. Keep one outside the service: history before it cannot then be changed unnoticed.',
  query: listCheckpointsQuery,
  response: checkpointList,
  errors: ['invalid_request', 'unknown_field'],
  example: { response: { verifier_key: KEY, data: [CHECKPOINT], pagination: PAGE } },
} as const satisfies Operation;

const getConsistencyOperation = {
  id: 'getConsistencyProof',
  method: 'get',
  path: '/v1/audit/consistency',
  tag: 'Audit',
  scope: 'books:read',
  summary: 'Prove that a later checkpoint extends an earlier one',
  description: 'The consistency proof of RFC 9162 between the trees of `from` and `to` events.',
  query: consistencyQuery,
  response: consistency,
  errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
  example: { response: { from: 4500, to: 4821, proof: [CHECKPOINT.root_hash] } },
} as const satisfies Operation;

const getSessionProofOperation = {
  id: 'getSessionProof',
  method: 'get',
  path: '/v1/payment/sessions/{id}/proof',
  tag: 'Audit',
  scope: 'payments:read',
  summary: 'Prove that a payment is in the event log',
  description:
    'The events of the session with their positions in the Merkle tree of the newest checkpoint. Verify it with the public key, without the service.',
  response: sessionProof,
  errors: ['not_found', 'service_unavailable'],
  example: { response: PROOF },
} as const satisfies Operation;

const BEHIND: Answer = refuse(
  'service_unavailable',
  'The event log is still being read after a start. Nothing is wrong.',
);

export function auditRoutes(api: AuditApi): Route[] {
  return [
    route(listCheckpointsOperation, async ({ query }) => {
      const before = query.cursor === undefined || query.cursor === '' ? undefined : Number(query.cursor);
      if (before !== undefined && !/^\d{1,15}$/.test(must(query.cursor)))
        return refusedField('cursor', 'must be a cursor of this list');
      const limit = Number(query.page_size ?? DEFAULT_PAGE_SIZE);
      const page = await api.checkpoints({ limit, ...(before !== undefined && { before }) });
      const next = page.before === null ? null : String(page.before);
      return answer({
        verifier_key: api.verifierKey(),
        data: page.checkpoints.map(presentCheckpoint),
        pagination: { page_size: limit, has_more: next !== null, next_cursor: next },
      });
    }),
    route(getConsistencyOperation, async ({ query }) => {
      const [from, to] = [Number(query.from), Number(query.to)];
      if (from > to) return refusedField('from', 'must be at most to');
      return unlessBehind(async () => {
        const reached = await api.reached();
        if (reached !== null && to > reached)
          return refusedField('to', `must be at most ${reached}, the number of events`);
        return answer({ from, to, proof: await api.consistency(from, to) });
      });
    }),
    route(getSessionProofOperation, async ({ caller, params }) => {
      const id = parseSessionId(must(params.id));
      if (id === null) return NOT_FOUND;
      return unlessBehind(async () => {
        const proof = await api.proofOf(caller, id);
        return proof === null ? NOT_FOUND : answer(presentProof(id, proof, api.verifierKey()));
      });
    }),
  ];
}

/** Returns a temporary refusal while history is still being read. */
export async function unlessBehind(task: () => Promise<Answer>): Promise<Answer> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof AuditTreeBehind) return BEHIND;
    throw error;
  }
}
