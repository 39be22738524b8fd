import { canonicalText } from '../../src/domain/events/canonical-text.ts';
import type { RecordedEvent } from '../../src/ports/event-store.ts';
import { MerkleFrontier } from '../../src/runtime/merkle/frontier.ts';
import { inclusionProof, leafHash } from '../../src/runtime/merkle/tree.ts';
import type { AuditRecords } from '../../src/features/audit/records.ts';
import { signedExport } from './signed-export.ts';

/** Proofs of a log whose end is signed. */
export function evidenceRecords(events: readonly RecordedEvent[]): Pick<AuditRecords, 'eventOf' | 'proofOfEvent' | 'verifierKey'> {
  const { checkpoint, verifierKey } = signedExport(events);
  const leaves = events.map(({ hash }) => leafHash(Buffer.from(hash, 'hex')));
  const rootOf = (from: number, to: number): Buffer => {
    const tree = new MerkleFrontier();
    for (const leaf of leaves.slice(from, to)) tree.append(leaf);
    return tree.root();
  };
  return {
    verifierKey: () => verifierKey,
    eventOf: async (_stream, id) => events.find((each) => each.id === id) ?? null,
    proofOfEvent: async (event) => {
      const leafIndex = events.findIndex(({ id }) => id === event.id);
      const path = inclusionProof(leafIndex, events.length, rootOf).map((node) => node.toString('base64'));
      const { type, revision, hash } = event;
      return {
        checkpoint: { origin: 'o', size: events.length, rootHash: '', checkpoint, createdSec: 1 },
        proof: { type, revision, leafIndex, text: canonicalText(event), hash, inclusionProof: path },
      };
    },
  };
}
