import { describe, expect, it } from 'vitest';
import type { SignerStatus } from '../../../../src/ports/outgoing-signer.ts';
import { JournalCheck } from '../../../../src/features/payouts/journal-check.ts';
import { initialTreasuryContext, type TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';

const place = (seq: number) => ({ seq, hash: String(seq).padStart(64, 'a') });
const ledgerAt = (seq: number | null, more: Partial<TreasuryContext> = {}): TreasuryContext => ({
  ...{ ...initialTreasuryContext, journal: seq === null ? null : place(seq) },
  ...more,
});
const neverStopped = { stop: () => Promise.reject(new Error('nobody may stop it for this')) };
const signerAt = (seq: number | null) => ({
  ...neverStopped,
  status: async () =>
    ({
      lastSigned: seq === null ? {} : { bsc: place(seq) },
      entries: seq ?? 1,
      isNew: false,
    }) as unknown as SignerStatus,
});
const look = (seq: number | null, ...ledger: TreasuryContext[]): Promise<string | null> => {
  const answers = [...ledger];
  return new JournalCheck(signerAt(seq)).look('live', 'bsc', async () =>
    answers.length > 1 ? answers.shift()! : answers[0]!,
  );
};

describe('journal and ledger', () => {
  it.each([
    [null, null],
    [3, 3],
  ])('agree at entries %s and %s', async (signer, ledger) => expect(await look(signer, ledgerAt(ledger))).toBeNull());

  it.each([
    [5, 3, /entry 5 of bsc and the ledger at 3: it signed what this ledger does not know/],
    [2, null, /entry 2 of bsc and the ledger at 0: it signed what this ledger does not know/],
    [3, 5, /not the journal of this ledger, or an older copy/],
    [null, 5, /entry 0 of bsc and the ledger at 5: it is not the journal of this ledger/],
  ])('disagree at entries %s and %s before anything is asked to be paid', async (signer, ledger, sentence) =>
    expect(await look(signer, ledgerAt(ledger))).toMatch(sentence),
  );

  it('are not compared while something is signed, or was meanwhile', async () => {
    const open = { legId: 're_1-1' } as unknown as TreasuryContext['open'];
    expect(await look(4, ledgerAt(3, { open }))).toBeNull();
    expect(await look(4, ledgerAt(3), ledgerAt(3, { open }))).toBeNull();
    expect(await look(4, ledgerAt(3), ledgerAt(4))).toBeNull();
  });

  it('are said nothing of by a signer that is away or refuses', async () => {
    const away = new JournalCheck({ ...neverStopped, status: () => Promise.reject(new Error('away')) });
    expect(await away.look('live', 'bsc', async () => ledgerAt(3))).toBeNull();
    const refuses = new JournalCheck({
      ...neverStopped,
      status: async () => ({ ok: false }) as unknown as SignerStatus,
    });
    expect(await refuses.look('live', 'bsc', async () => ledgerAt(3))).toBeNull();
  });

  it.each([
    ['stops a signer that has none though this ledger has paid, once', 5, ['live']],
    ['leaves the signer of a new installation alone', null, []],
  ] as const)('%s', async (_, ledger, expected) => {
    const stopped: string[] = [];
    const signer = {
      status: async () => ({ lastSigned: {}, entries: 0, isNew: stopped.length === 0 }) as unknown as SignerStatus,
      stop: async (mode: string) => (stopped.push(mode), {} as SignerStatus),
    };
    const check = new JournalCheck(signer, 0);
    for (let round = 0; round < 3; round += 1) {
      const fault = await check.look('live', 'bsc', async () => ledgerAt(ledger));
      if (ledger === null) expect(fault).toBeNull();
      else expect(fault).toMatch(/^the signer has no journal of what this ledger has paid, so it was stopped/);
    }
    expect(stopped).toEqual(expected);
  });

  it('agree again once the newer ledger is back', async () => {
    let ledger = ledgerAt(3);
    const check = new JournalCheck(signerAt(5), 0);
    expect(await check.look('live', 'bsc', async () => ledger)).not.toBeNull();
    ledger = ledgerAt(5);
    expect(await check.look('live', 'bsc', async () => ledger)).toBeNull();
  });
});
