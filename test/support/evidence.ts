import { canonicalText } from '../../src/domain/events/canonical-text.ts';
import type { RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import { inclusionProof } from '../../src/runtime/merkle/tree.ts';
import type { AuditRecords } from '../../src/features/audit/records.ts';
import { rootOf, signedExport } from './signed-export.ts';

/** Proofs of a log whose end is signed. */
export function evidenceRecords(
  events: readonly RecordedEvent[],
): Pick<AuditRecords, 'eventOf' | 'proofOfEvent' | 'verifierKey'> {
  const { checkpoint, verifierKey } = signedExport(events);
  return {
    verifierKey: () => verifierKey,
    eventOf: async (_stream, id) => events.find((each) => each.id === id) ?? null,
    proofOfEvent: async (event) => {
      const leafIndex = events.findIndex(({ id }) => id === event.id);
      const path = inclusionProof(leafIndex, events.length, (from, to) => rootOf(events.slice(from, to))).map((node) =>
        node.toString('base64'),
      );
      const { type, revision, hash } = event;
      return {
        checkpoint: { origin: 'o', size: events.length, rootHash: '', checkpoint, createdSec: 1 },
        proof: { type, revision, leafIndex, text: canonicalText(event), hash, inclusionProof: path },
      };
    },
  };
}
