import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const first = ['crash', 'property', 'e2e'];

/** Long files first, so that the workers end together: by the last run's times, and on a new checkout by folder. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const [, folder = ''] = relative(this.ctx.config.root, moduleId).split('/');
      return first.includes(folder) ? first.indexOf(folder) : first.length;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
