import type { PlantedChange } from '../support/planted-change.ts';
import type { Mutant } from './mutant.ts';
import { SIGNER_MUTANTS } from './signer-mutants.ts';
import { WEBHOOK_MUTANTS } from './webhook-mutants.ts';

interface MutantSet {
  readonly mutants: readonly Mutant[];
  /** The tests among which those that notice are looked for. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Changed whatever is taken out, so that processes that tests start carry it, too. */
  readonly always: readonly PlantedChange[];
}

const SIGNER_PROCESS = 'src/adapters/signer/process.ts';

export const MUTANT_SETS: Readonly<Record<string, MutantSet>> = {
  webhooks: {
    mutants: WEBHOOK_MUTANTS,
    include: ['test/e2e/webhook-*.test.ts', 'test/unit/webhook-*.test.ts'],
    exclude: ['test/e2e/webhook-crash.test.ts'],
    always: [],
  },
  signer: {
    mutants: SIGNER_MUTANTS,
    include: [
      'test/e2e/hostile-worker*.test.ts',
      'test/e2e/signer-*.test.ts',
      'test/property/{signer-search,signer-moves-search,solana-payers}.property.test.ts',
      'test/unit/signer/{approver-commands,moves,one-voice-a-host,own-money,deposit-gone,settled-merchant,stop-in-flight,taken-over,tron-gas,what-landed}.test.ts',
      'test/unit/signer/journal/refund-cover.test.ts',
    ],
    exclude: ['test/e2e/hostile-worker-planted.test.ts'],
    always: [
      {
        file: SIGNER_PROCESS,
        from: 'const NODE_FLAGS = [',
        to: "const NODE_FLAGS = ['--import', process.env.PLANT_HOOK, ",
      },
      { file: SIGNER_PROCESS, from: "'TMPDIR'", to: "'TMPDIR', 'MUTANTS', 'WITHOUT'" },
    ],
  },
};

/**
 * What is planted in this process: MUTANTS names the set, WITHOUT the protection that is taken out; none for the
 * sources as they are.
 */
export const chosenSet = (): MutantSet => MUTANT_SETS[process.env['MUTANTS'] ?? 'webhooks']!;
export const chosenChanges = (): readonly PlantedChange[] =>
  chosenSet().mutants.find(({ without }) => without === process.env['WITHOUT'])?.changes ?? [];
