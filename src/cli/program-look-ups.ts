import type { Command } from 'commander';
import { admin, WHO } from './admin-command.ts';
import type { CliHost } from './host.ts';
import { print } from './print.ts';

/** `quittance projection ...`. */
export function addLookUps(program: Command, host: CliHost): void {
  const projection = program.command('projection').description('rebuildable look-ups');
  admin(projection, host, 'rebuild [name]', 'projection.rebuild', 'rebuild one projection, or all', [WHO]);
  admin(
    projection,
    host,
    'compare [name]',
    'projection.compare',
    'replay the ledger beside the running projections and compare; ends with 1 when a row differs',
    [],
    {
      isFault: (answer) => (answer as { readonly drifted: number }).drifted > 0,
    },
  );
  admin(
    projection,
    host,
    'snapshot',
    'projection.snapshot',
    "put a snapshot of this node's look-ups into LOOK_UP_SNAPSHOT_DIR, for nodes to begin with",
  );
  projection
    .command('prepare')
    .description(
      'make the look-ups of this build beside running nodes and put a snapshot of them into LOOK_UP_SNAPSHOT_DIR, before an upgrade',
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => print(await host.prepareLookUps(), json === true));
}
