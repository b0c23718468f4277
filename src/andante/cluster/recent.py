from andante.frontier.seen import Seen


class Recent:
    def __init__(self, capacity):
        self._s = Seen()

    def add(self, fp):
        return self._s.add(fp)
