import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeLimitsOf } from '../../src/domain/networks/native-limits.ts';
import { RpcError } from '../../src/ports/chain/rpc-pool.ts';
import { ViewUnavailable, type ChainView, type SweepGas } from '../../src/signer/chains/chain-view.ts';
import { viewOf } from '../../src/signer/chains/views.ts';
import { runsOf } from '../support/runs.ts';
import {
  evmWorld,
  solanaWorld,
  STATES,
  tronWorld,
  type Asked,
  type Body,
  type World,
} from '../support/signer-worlds.ts';
import { fieldCount, saidInstead, strange, type Strange } from '../support/strange-answers.ts';
import { withoutPauses } from '../support/without-pauses.ts';

/*
 * The signer's own views, over a provider that says what nobody has heard yet. One transaction is at once a deposit, a
 * transfer of native coin and a payout; nothing may be signed that would not be signed on what is known of it.
 */

const entryOf = ({ draft, txHash, signedBytes, treasury }: World) => ({
  draft,
  txHash,
  signedBytes,
  fromAddress: treasury,
});
type Found = Readonly<Record<string, unknown>>;
/** The same transfer, not final yet, or without a name of who paid: nothing goes back on either. */
function isLessSure(seen: Found, known: Found | null, payer: 'payer' | 'fromAddress'): boolean {
  const rest = { final: true, [payer]: null, unknownPayer: null };
  return (
    (seen['final'] === false || seen[payer] === null) && isDeepStrictEqual({ ...seen, ...rest }, { ...known, ...rest })
  );
}

/** What is asked before something is signed, and whether an answer other than the known one lets less be signed. */
const QUESTIONS: Readonly<
  Record<
    string,
    {
      readonly ask: (view: ChainView, world: World) => Promise<unknown>;
      readonly isLess: (seen: unknown, known: unknown) => boolean;
    }
  >
> = {
  'finds a deposit': {
    ask: (view, { txHash, logIndex, ours }) =>
      view.findDeposit({
        ...{ depositKey: '', txHash, logIndex, blockNumber: 16 },
        toAddress: ours,
        derivationIndex: 3,
      }),
    isLess: (seen, known) => seen === null || isLessSure(seen as Found, known as Found | null, 'payer'),
  },
  'finds native coin': {
    ask: (view, { txHash, ours }) => view.findNativeTransfer({ txHash, toAddress: ours }),
    isLess: (seen, known) => seen === null || isLessSure(seen as Found, known as Found | null, 'fromAddress'),
  },
  'had no effect': {
    ask: (view, world) => view.hadNoEffect([entryOf(world)], 16),
    isLess: (seen) => seen === false,
  },
  'has landed': { ask: (view, world) => view.hasLanded(entryOf(world)), isLess: (seen) => seen === false },
  'may follow': {
    ask: (view, world) => view.mayFollow([entryOf(world)], world.draft),
    isLess: (seen) => seen === false,
  },
  'has the treasury’s nonce': {
    ask: (view, { draft, treasury }) => view.sequenceFault(draft, treasury),
    isLess: (seen) => typeof seen === 'string',
  },
  'pays the payee’s account': {
    ask: (view, { draft, ours }) => view.payeeFault(draft, ours),
    isLess: (seen) => typeof seen === 'string',
  },
  'needs gas for a sweep': {
    ask: (view, { ours, treasury }) => view.sweepGas(ours, treasury),
    isLess: (seen, known) =>
      (seen as SweepGas).needed <= (known as SweepGas).needed && (seen as SweepGas).held >= (known as SweepGas).held,
  },
};

const keyOf = ({ path, method, params, body }: Asked): string => JSON.stringify([path, method, params, body]);
let server: Server;
let reply: (asked: Asked) => Promise<unknown>;
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', params = [], ...body } = JSON.parse(Buffer.concat(chunks).toString()) as Partial<Asked>;
      const asked = { path: request.url!, method, params, body: body as Body };
      void reply(asked).then((answer) => response.end(JSON.stringify(answer ?? null)));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => new Promise<void>((done) => server.close(() => done())));
withoutPauses();

/** As it goes over the wire. */
async function written(asked: Asked, result: Promise<unknown>): Promise<unknown> {
  try {
    const said = await result;
    return asked.method === '' ? said : { jsonrpc: '2.0', id: 1, result: said };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { code, message } = error;
    return asked.method === '' ? { Error: message } : { jsonrpc: '2.0', id: 1, error: { code, message } };
  }
}

function viewOver({ network, token }: World): ChainView {
  const urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`];
  const tokens = [{ coin: 'USDT', address: token, decimals: 6 }] as const;
  return viewOf({ mode: 'test', network, chainId: '1', tokens, urls }, nativeLimitsOf(network));
}

describe.each([evmWorld(), tronWorld(), solanaWorld()])('the signer’s view of $network, in strange words', (world) => {
  /** On TRON an amount that is left out is zero, and so is the account that is not there. */
  const mayLack = ({ path }: Asked): boolean => path.endsWith('/getaccount');

  async function known() {
    const cases = [];
    for (const state of STATES)
      for (const [name, { ask, isLess }] of Object.entries(QUESTIONS)) {
        /** How many fields each answer has. */
        const asked = new Map<string, number>();
        reply = (one) => {
          const answer = world.answer(state, one);
          if (!mayLack(one)) asked.set(keyOf(one), fieldCount(answer));
          return written(one, Promise.resolve(answer));
        };
        const answer = await ask(viewOver(world), world);
        if (asked.size > 0) cases.push({ state, name, ask, isLess, answer, asked: [...asked] });
      }
    return cases;
  }
  async function mustNotSignMore(one: Awaited<ReturnType<typeof known>>[number], said: Strange, at: string) {
    reply = (asked) => {
      const ask = (): Promise<unknown> => Promise.resolve(world.answer(one.state, asked));
      const isOdd = keyOf(asked) === at;
      return written(asked, isOdd ? saidInstead(said, world.family, asked.method || asked.path, ask) : ask());
    };
    const seen = await one.ask(viewOver(world), world).catch((error: unknown) => {
      expect(error).toBeInstanceOf(ViewUnavailable);
      return 'unavailable';
    });
    if (seen !== 'unavailable' && !one.isLess(seen, one.answer))
      expect({ ...one, said, at, answer: seen }).toEqual({ ...one, said, at });
  }

  it('lets nothing be signed on what is not known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...(await known())), strange, fc.nat(), (one, said, pick) =>
        mustNotSignMore(one, said, one.asked[pick % one.asked.length]![0]),
      ),
      { numRuns: runsOf(150) },
    );
  });

  it('lets nothing be signed, whichever field an answer lacks', async () => {
    for (const one of await known())
      for (const [at, count] of one.asked)
        for (let pick = 0; pick < count; pick += 1) await mustNotSignMore(one, { kind: 'lacking', pick }, at);
  });

  it.each([...STATES])('sees the transaction as it is: %s', async (state) => {
    reply = (one) => written(one, Promise.resolve(world.answer(state, one)));
    const view = viewOver(world);
    const ask = (name: string): Promise<unknown> => QUESTIONS[name]!.ask(view, world);
    const moved = { final: { final: true }, fresh: { final: false } };
    const deposit = state in moved ? moved[state as 'final'] : null;
    const found = (await ask('finds a deposit')) as object | null;
    if (state === 'forgotten') expect(found === null).toBe(world.family === 'tron');
    else if (deposit) expect(found).toMatchObject({ ...deposit, units: 7n * 10n ** 18n });
    else expect(found).toBeNull();
    if (state !== 'forgotten')
      expect(await ask('finds native coin')).toEqual(deposit && expect.objectContaining(deposit));
    const isDone = state === 'failed' || (state === 'absent' && world.family === 'tron');
    expect(await ask('had no effect')).toBe(isDone);
  });
});
